// What the first warm-up launches show of the work ends an experiment before it measures.
import { describe, expect, test } from 'vitest'
import { checkComparability } from '../../../src/judge/checks/all.ts'
import { earlyStop } from '../../../src/judge/early-stop.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import { anExperiment, aRunSummary } from '../../fixtures/builders.ts'

const whole = anExperiment()
const shortened = anExperiment({ design: { ...whole.design, warm_up_set: { 'train.updates': 5 } } })
const aWarmUp = (difference: Partial<RunSummary> = {}) =>
  aRunSummary({ purpose: 'warm-up', block: null, variant: 'baseline', ...difference })
const baseline = aWarmUp({ runId: '01-warm-up-baseline' })
const optimized = aWarmUp({ runId: '02-warm-up-optimized', variant: 'optimized' })

const checksOf = (runs: readonly RunSummary[], experiment = whole) =>
  checkComparability({ experiment, measured: [], runs })
const stoppedBy = (runs: readonly RunSummary[], experiment = whole) =>
  earlyStop({ runs, machineChecks: [], verdict: { checks: checksOf(runs, experiment), gates: [] } })

test('equal warm-up launches prove nothing and end nothing', () => {
  expect(stoppedBy([baseline, optimized])).toBe(null)
  expect(new Set(checksOf([baseline, optimized]).map(({ status }) => status))).toEqual(
    new Set(['inconclusive']),
  )
})

test.each([
  ['data', { dataHash: 'another' }],
  ['parameters', { parameterCount: 7 }],
  ['samples', { samples: baseline.samples + 16, reportedSamples: baseline.samples + 16 }],
  ['readers', { reader: 'another' }],
  ['processes', { worldSize: 1 }],
  ['a seed', { reportedSeed: baseline.seed + 1 }],
  ['settings, as reported,', { config: { 'train.lr': 1 } }],
])('other %s of one variant end it, also where warm-ups are shortened', (_, other) => {
  const runs = [
    { ...baseline, config: {} },
    { ...optimized, config: {}, ...other },
  ]
  expect(stoppedBy(runs)).toBe('incomparable')
  expect(stoppedBy(runs, shortened)).toBe('incomparable')
})

test('all that is wrong is said at once', () => {
  const checks = checksOf([baseline, { ...optimized, worldSize: 1, dataHash: 'another', steps: 12 }])
  const failed = checks.flatMap(({ status, detail }) => (status === 'failed' ? [detail] : [])).join('\n')
  for (const part of ['world sizes', 'data hashes', 'has 12 steps']) expect(failed).toContain(part)
})

describe('what a shorter launch may show ends it only where none is shortened', () => {
  test.each([
    ['too few steps', { steps: 19, attemptedUpdates: 19 }],
    ['no evaluation at the end', { evaluatedAfterSamples: baseline.samples / 2 }],
    ['many skipped updates', { skippedUpdates: baseline.steps / 2 }],
  ])('%s', (_, wrong) => {
    const runs = [
      { ...baseline, ...wrong },
      { ...optimized, ...wrong },
    ]
    expect(stoppedBy(runs)).toBe('incomparable')
    expect(stoppedBy(runs, shortened)).toBe(null)
  })
})

test('once a run is measured, warm-up launches count for nothing', () => {
  const measured = [aRunSummary({ variant: 'baseline' })]
  const runs = [{ ...baseline, dataHash: 'another' }, ...measured]
  const checks = checkComparability({ experiment: whole, measured, runs })
  expect(checks.filter(({ status }) => status === 'failed')).toEqual([])
})
