// A speedup that only waits have made is told.
import { expect, test } from 'vitest'
import type { GateVerdict } from '../../../src/judge/gates/gate-verdict.ts'
import { LOOK_AT_95 } from '../../../src/judge/looks/look-rule.ts'
import { bothAt, pairedRatio } from '../../../src/judge/paired.ts'
import { type Speedups, speedupsOf } from '../../../src/judge/speedups.ts'
import { slowStepWarnings } from '../../../src/judge/warnings/slow-steps.ts'
import { aGate, anExperiment, aRunSummary, aVerdict } from '../../fixtures/builders.ts'

const warningsOf = (gates: readonly GateVerdict[], speedups: Speedups) =>
  slowStepWarnings({
    experiment: anExperiment(),
    gates,
    comparison: { blocks: [], gates: [], speedups, look: LOOK_AT_95 },
  })

const { verdict } = await aVerdict('passed', 'passed')
const [judged] = verdict.gates
if (judged?.gate.metric !== 'seconds_per_sample') throw new Error('the first gate is the speedup')

const NONE = { steady: null, total: null, gpuHours: null, toQuality: null, toEachQuality: null }

const atFastest = (speedup: number, of: keyof typeof NONE = 'steady') => ({
  ...verdict.speedups,
  atFastestSteps: {
    ...NONE,
    [of]: pairedRatio([speedup, speedup].map((numerator) => ({ numerator, denominator: 1 }))),
  },
})

test('a gate that passes and would miss its limit without slow steps', () => {
  expect(warningsOf([judged], atFastest(2.9))).toMatchInlineSnapshot(`
    [
      "speedup passes only because of slow steps. At the pace of the fastest tenth of each run it would be 2.90x, and miss its limit of 3.00x. Check what steps of the baseline wait for: another machine may not show it. If some steps are longer by design, set period_steps",
    ]
  `)
  expect(warningsOf([judged], atFastest(3.01))).toEqual([])
  const warns = { ...judged, gate: { ...judged.gate, severity: 'warn' as const } }
  expect(warningsOf([warns], atFastest(2.9))).toHaveLength(1)
})

test('by the same bound as the gate, or by the estimate where that decides', () => {
  const scattered = pairedRatio([3, 3.2, 3.4].map((numerator) => ({ numerator, denominator: 1 })))
  const speedups = {
    ...verdict.speedups,
    atFastestSteps: { ...NONE, steady: scattered },
  }
  expect(warningsOf([judged], speedups)).toEqual([
    expect.stringContaining('it would be 3.20x (at least 2.88x), and miss its limit of 3.00x'),
  ])
  const byEstimate = { ...judged, gate: { ...judged.gate, evidence: 'point' as const } }
  expect(warningsOf([byEstimate], speedups)).toEqual([])
})

test('what reads as its limit, or lies past it by less than is shown, is no warning', () => {
  const limited = (limit: number) => ({ ...judged, gate: aGate({ limit }) })
  for (const [limit, speedup] of [
    [3, 2.9999],
    [3.004, 3.0045],
    [12.34, 12.341],
  ] as const)
    expect(warningsOf([limited(limit)], atFastest(speedup))).toEqual([])
})

test('of each time there is its own', () => {
  const toQuality = { ...judged, gate: aGate({ metric: 'time_to_quality_seconds', limit: 5 }) }
  const toEach = { ...judged, gate: aGate({ metric: 'time_to_each_quality_seconds', limit: 5 }) }
  expect(warningsOf([toQuality, toEach], atFastest(4, 'toQuality'))).toHaveLength(1)
  expect(warningsOf([toQuality, toEach], atFastest(4, 'toEachQuality'))).toHaveLength(1)
  expect(warningsOf([toQuality, toEach], atFastest(4))).toEqual([])
  const whole = { ...judged, gate: aGate({ metric: 'total_seconds', limit: 5 }) }
  expect(warningsOf([whole], atFastest(4, 'total'))).toHaveLength(1)
  expect(warningsOf([whole], atFastest(4))).toEqual([])
  const taken = { ...judged, gate: aGate({ metric: 'gpu_hours', limit: 5 }) }
  expect(warningsOf([taken], atFastest(4, 'gpuHours'))).toHaveLength(1)
  expect(warningsOf([taken], atFastest(4, 'total'))).toEqual([])
})

test('of a share of the baseline its other bound decides', () => {
  const scattered = pairedRatio([3, 3.2, 3.4].map((numerator) => ({ numerator, denominator: 1 })))
  const speedups = {
    ...verdict.speedups,
    atFastestSteps: { ...NONE, steady: scattered },
  }
  const share = (limit: number) => ({
    ...judged,
    gate: aGate({ statistic: 'ratio', direction: 'at_most', limit }),
  })
  expect(warningsOf([share(0.33)], speedups)).toEqual([
    expect.stringContaining('it would be 0.313x (at most 0.348x), and miss its limit of 0.330x'),
  ])
  expect(warningsOf([share(0.35)], speedups)).toEqual([])
})

test('a gate that does not pass, or asks something else, says nothing of it', () => {
  const others = [
    { ...judged, status: 'failed' as const },
    { ...judged, status: 'inconclusive' as const },
    { ...judged, gate: { ...judged.gate, severity: 'info' as const } },
    { ...judged, gate: aGate({ statistic: 'difference', direction: 'at_most', limit: -1 }) },
    { ...judged, gate: aGate({ metric: 'val_loss', statistic: 'ratio', direction: 'at_most', limit: 0.1 }) },
  ]
  expect(warningsOf(others, atFastest(2.9))).toEqual([])
})

test('is the mean over blocks of what each run would have taken', () => {
  const metricsOf = (factor: number) => ({
    seconds_per_sample_at_fastest_steps: 3 * factor,
    total_seconds_at_fastest_steps: 6 * factor ** 3,
    gpu_hours_at_fastest_steps: 7 * factor ** 4,
    time_to_quality_seconds_at_fastest_steps: 4 * factor ** 1.5,
    time_to_each_quality_seconds_at_fastest_steps: 5 * factor ** 2,
  })
  const baseline = aRunSummary({ metrics: metricsOf(2) })
  const optimized = aRunSummary({ variant: 'optimized', metrics: metricsOf(1) })
  const { atFastestSteps } = speedupsOf([{ block: 1, baseline, optimized }], bothAt(0.95))
  expect(atFastestSteps.steady?.estimate).toBeCloseTo(2, 12)
  expect(atFastestSteps.total?.estimate).toBeCloseTo(8, 12)
  expect(atFastestSteps.gpuHours?.estimate).toBeCloseTo(16, 12)
  expect(atFastestSteps.toQuality?.estimate).toBeCloseTo(2 ** 1.5, 12)
  expect(atFastestSteps.toEachQuality?.estimate).toBeCloseTo(4, 12)
})
