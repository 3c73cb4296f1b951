// Does the optimized variant spend a larger share of its steps on waiting for data than the baseline?
import { expect, test } from 'vitest'
import { gatesOf } from '../../../src/config/experiment.ts'
import { gatesFile } from '../../../src/config/gates/gates.ts'
import { compare } from '../../../src/judge/compare.ts'
import { judgeGate } from '../../../src/judge/gates/gate-verdict.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import { gateCells, gateQuestion } from '../../../src/report/gates/gate-row.ts'
import { anExperiment, aRunSummary, blocksOf } from '../../fixtures/builders.ts'

const [gate] = gatesOf(
  anExperiment({ gates: gatesFile.parse({ data_wait_ratio: { at_most: 1.5, severity: 'info' } }) }),
)
if (gate === undefined) throw new Error('an experiment with one gate has none')

const verdictOf = (runs: readonly RunSummary[]) =>
  compare(runs, [gate]).gates.map((comparison) => judgeGate(comparison))[0]

/** Both variants of three blocks, as shares of their step seconds. */
const waiting = (optimized: number) =>
  blocksOf(
    'data_wait_share',
    [0.2, 0.21, 0.19].map((baseline) => ({ baseline, optimized: optimized * (baseline / 0.2) ** 0.9 })),
  )

test('is asked for by name', () => {
  expect(gateQuestion(gate)).toContain('optimized / baseline share of the step seconds that waited for data')
  expect(gateQuestion(gate)).toContain('needs data_wait_seconds in steps')
})

test('passes or fails by the ratio of the shares', () => {
  const less = verdictOf(waiting(0.1))
  expect(less).toMatchObject({ status: 'passed' })
  expect(less?.evidence?.estimate).toBeCloseTo(0.5, 2)
  expect(verdictOf(waiting(0.4))).toMatchObject({ status: 'failed' })
})

test('shows both shares in percent, and their ratio', () => {
  const [name, baseline, optimized, change] = gateCells(verdictOf(waiting(0.1)) ?? expect.fail())
  expect([name, baseline, optimized, change]).toEqual(['data_wait_ratio', '20%', '10%', '0.500x'])
})

test('is not measured where the trainer does not report what it waits', () => {
  const silent = [1, 2, 3].flatMap((block) =>
    (['baseline', 'optimized'] as const).map((variant) => aRunSummary({ variant, block })),
  )
  expect(verdictOf(silent)).toMatchObject({ status: 'not-measured' })
})
