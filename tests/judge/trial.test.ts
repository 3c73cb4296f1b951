// All that one launch of each variant shows of a verdict that cannot be.
import { expect, test } from 'vitest'
import type { Check } from '../../src/judge/checks/check.ts'
import { judgeTrial } from '../../src/judge/trial.ts'
import type { RunSummary } from '../../src/measure/summary.ts'
import { anExperiment, aRunSummary } from '../fixtures/builders.ts'

const experiment = anExperiment()
const facts = aRunSummary().facts
const trialOf = (difference: Partial<RunSummary> = {}, checks: readonly Check[] = []) => {
  const runs = (['baseline', 'optimized'] as const).map((variant) =>
    aRunSummary({ purpose: 'warm-up', block: null, variant, runId: variant, ...difference }),
  )
  return judgeTrial({ experiment, configs: null, runs }, checks)
}

test('sound launches have no problem', () => {
  expect(trialOf()).toEqual({ problems: [], unknown: [] })
})

test('a fact that a required gate rests on names that gate', () => {
  const { problems, unknown } = trialOf({ facts: { ...facts, samples: 'unknown', seed: 'unknown' } })
  expect(problems).toEqual([expect.stringMatching(/^gate speedup would stay open: .*samples_per_step/)])
  expect(unknown).toEqual(['samples', 'seed'])
})

test('so does a number that no run has', () => {
  const { val_loss: _, ...metrics } = aRunSummary().metrics
  expect(trialOf({ metrics }).problems).toEqual([
    expect.stringMatching(/^gate loss_delta would stay open: baseline, optimized have no val_loss/),
  ])
})

test('problems of the work stand beside other failed checks, each once', () => {
  const failed = (name: Check['name']) => ({ name, status: 'failed', detail: 'why' }) as const
  const { problems } = trialOf({ worldSize: 1 }, [
    failed('completion'),
    failed('equal work'),
    failed('same data'),
  ])
  expect(problems).toEqual([
    expect.stringContaining('on 1 processes'),
    expect.stringContaining('on 1 processes'),
    'same data: why',
  ])
})
