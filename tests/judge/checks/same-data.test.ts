// The files under `data:` have to be the same for both variants, from the first launch to the last.
import { expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import type { DataHashes } from '../../../src/measure/data-hashes.ts'
import { anExperiment, aRequest, launchedPlan } from '../../fixtures/builders.ts'

const [ONE, OTHER] = ['a'.repeat(64), 'b'.repeat(64)]
const both = (hash: string) => ({ baseline: hash, optimized: hash })

async function verdictOf(data: DataHashes | null, names: string[] | undefined = ['data/train.bin']) {
  const experiment = { ...anExperiment(), data: names }
  const { verdict } = assess(aRequest({ experiment, data }), await launchedPlan(experiment))
  const check = verdict.checks.find(({ name }) => name === 'same data')
  return { verdict: verdict.verdict, status: check?.status, detail: check?.detail }
}

test('files that stayed as they are pass', async () => {
  expect(await verdictOf({ before: both(ONE), after: both(ONE), changed: [] })).toMatchObject({
    verdict: 'passed',
    status: 'passed',
  })
})

test('files that changed make the verdict invalid, and are named', async () => {
  const data = { before: both(ONE), after: both(OTHER), changed: ['data/train.bin'] }
  expect(await verdictOf(data)).toMatchObject({
    verdict: 'invalid',
    status: 'failed',
    detail: expect.stringContaining('data/train.bin'),
  })
})

test('files that changed for one variant do too', async () => {
  const data = { before: both(ONE), after: { baseline: ONE, optimized: OTHER }, changed: ['data/x'] }
  expect((await verdictOf(data)).verdict).toBe('invalid')
})

test('variants with files of their own are not compared', async () => {
  const own = { baseline: ONE, optimized: OTHER }
  expect(await verdictOf({ before: own, after: null, changed: [] })).toMatchObject({
    verdict: 'invalid',
    detail: expect.stringContaining('launch.shared_paths'),
  })
})

test('files that nobody hashed at the end pass nothing', async () => {
  expect(await verdictOf({ before: both(ONE), after: null, changed: [] })).toMatchObject({
    verdict: 'inconclusive',
    status: 'inconclusive',
  })
  expect(await verdictOf(null)).toMatchObject({ verdict: 'inconclusive', status: 'inconclusive' })
})

test('an experiment that names none has no such check', async () => {
  const experiment = anExperiment()
  const { verdict } = assess(aRequest({ experiment }), await launchedPlan(experiment))
  expect(verdict.checks.map(({ name }) => name)).not.toContain('same data')
})
