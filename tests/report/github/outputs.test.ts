// The outputs of the action: full precision, and '' for what was not measured.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { assess } from '../../../src/assess.ts'
import { verdictOutputs } from '../../../src/report/github/outputs.ts'
import { anExperiment, aRequest, aResult } from '../../fixtures/builders.ts'

const optimizedLoss =
  (valLoss: number) =>
  ({ variant }: { variant: string }) =>
    variant === 'optimized' ? { valLoss, stepSeconds: 0.02 } : {}

test('are numbers in full precision', async () => {
  const outputs = verdictOutputs(await aResult(anExperiment(), optimizedLoss(0.02 + 1 / 3000)))
  expect(outputs).toMatchObject({
    verdict: 'passed',
    reason: '10 of 10 launches finished with equal work; required gates passed: speedup, loss_delta',
  })
  expect(Number(outputs.speedup)).toBeCloseTo(4, 12)
  expect(Number(outputs['speedup-lower-bound'])).toBeCloseTo(4, 12)
  expect(Number(outputs['loss-delta'])).toBeCloseTo(1 / 3000, 9)
  expect(outputs['loss-delta']?.length).toBeGreaterThan(12)
})

test("are '' where nothing was measured, never 0 or NaN", () => {
  expect(verdictOutputs(assess(aRequest(), []))).toEqual({
    verdict: 'inconclusive',
    reason: 'stopped early: 0 of 0 launches finished',
    speedup: '',
    'speedup-lower-bound': '',
    'loss-delta': '',
    'loss-delta-upper-bound': '',
  })
})

test('have no bound where one block gives none, but the estimate', async () => {
  const one = anExperiment({ design: { blocks: 1, warm_up_launches: 0, seed: 0 } })
  expect(verdictOutputs(await aResult(one))).toMatchObject({
    'speedup-lower-bound': '',
    'loss-delta': '0',
    'loss-delta-upper-bound': '',
  })
})

test("are '' for gates that the experiment does not have", async () => {
  expect(
    verdictOutputs(
      await aResult(
        anExperiment({ gates: { peak_memory_gb: { below: 50, severity: 'info', evidence: 'interval' } } }),
      ),
    ),
  ).toMatchObject({
    speedup: '',
    'loss-delta': '',
  })
})

test('are declared in action.yml', () => {
  const file = z.object({ outputs: z.record(z.string(), z.object({ description: z.string() })) })
  const { outputs } = file.parse(
    parse(readFileSync(join(import.meta.dirname, '../../../action.yml'), 'utf8')),
  )
  for (const name of Object.keys(verdictOutputs(assess(aRequest(), [])))) expect(outputs).toHaveProperty(name)
})
