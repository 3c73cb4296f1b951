// A speedup that only waits have made is told.
import { expect, test } from 'vitest'
import { pairedRatio } from '../../src/judge/paired.ts'
import { slowStepWarnings } from '../../src/judge/slow-steps.ts'
import { speedupsOf } from '../../src/judge/speedups.ts'
import { aGate, aRunSummary, aVerdict } from '../fixtures/builders.ts'

const { verdict } = await aVerdict('passed', 'passed')
const [judged] = verdict.gates
if (judged?.gate.metric !== 'seconds_per_sample') throw new Error('the first gate is the speedup')

const atFastest = (speedup: number, of: 'steady' | 'toQuality' | 'toEachQuality' = 'steady') => ({
  ...verdict.speedups,
  atFastestSteps: {
    steady: null,
    toQuality: null,
    toEachQuality: null,
    [of]: pairedRatio([speedup, speedup].map((numerator) => ({ numerator, denominator: 1 }))),
  },
})

test('a gate that passes and would miss its limit without slow steps', () => {
  expect(slowStepWarnings([judged], atFastest(2.9))).toMatchInlineSnapshot(`
    [
      "speedup passes, and would be 2.90x, below its limit of 3.00x, had no step taken longer than the fastest tenth of its run: what do the steps of the baseline wait for, and does it on another machine?",
    ]
  `)
  expect(slowStepWarnings([judged], atFastest(3))).toEqual([])
})

test('of each time there is its own', () => {
  const toQuality = { ...judged, gate: aGate({ metric: 'time_to_quality_seconds', limit: 5 }) }
  const toEach = { ...judged, gate: aGate({ metric: 'time_to_each_quality_seconds', limit: 5 }) }
  expect(slowStepWarnings([toQuality, toEach], atFastest(4, 'toQuality'))).toHaveLength(1)
  expect(slowStepWarnings([toQuality, toEach], atFastest(4, 'toEachQuality'))).toHaveLength(1)
  expect(slowStepWarnings([toQuality, toEach], atFastest(4))).toEqual([])
})

test('a gate that does not pass, or asks something else, says nothing of it', () => {
  const others = [
    { ...judged, state: 'failed' as const },
    { ...judged, state: 'inconclusive' as const },
    { ...judged, gate: { ...judged.gate, severity: 'info' as const } },
    { ...judged, gate: aGate({ statistic: 'ratio', direction: 'at_most', limit: 1.02 }) },
    { ...judged, gate: aGate({ metric: 'total_seconds' }) },
  ]
  expect(slowStepWarnings(others, atFastest(2.9))).toEqual([])
})

test('is the mean over blocks of what each run reported', () => {
  const runs = (['baseline', 'optimized'] as const).map((variant, index) =>
    aRunSummary({ variant, metrics: { seconds_per_sample_at_fastest_steps: 3 - index } }),
  )
  const [baseline, optimized] = runs
  if (!baseline || !optimized) throw new Error('two runs')
  const { atFastestSteps } = speedupsOf([{ block: 1, baseline, optimized }], 0.95)
  expect(atFastestSteps.steady?.estimate).toBeCloseTo(1.5, 12)
  expect(atFastestSteps.toQuality).toBeNull()
})
