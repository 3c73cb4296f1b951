// A noise floor that is too wide to hold anything against it is told.
import { expect, test } from 'vitest'
import type { Gate } from '../../../src/config/gates/gates.ts'
import type { NoiseComparison } from '../../../src/judge/noise/noise.ts'
import { coarseNoiseFloorWarnings } from '../../../src/judge/warnings/coarse-noise-floor.ts'
import { aGate, anExperiment, aVerdict } from '../../fixtures/builders.ts'
import { aNoiseFloor } from '../../fixtures/noise-floors.ts'

const noiseOf = (log_standard_deviation: number): NoiseComparison => ({
  status: 'measured',
  variants: [
    {
      variant: 'baseline',
      deviation: log_standard_deviation,
      floor: aNoiseFloor({ log_standard_deviation }),
      status: 'within',
    },
  ],
})
const { verdict } = await aVerdict('passed', 'passed')
const [judged] = verdict.gates
if (!judged) throw new Error('the experiment has a gate')

const warningsOf = (gates: readonly Gate[], noise: NoiseComparison, blocks = 4) =>
  coarseNoiseFloorWarnings({
    experiment: anExperiment({ design: { blocks, warm_up_launches: 0, seed: 0 } }),
    gates: gates.map((gate) => ({ ...judged, gate })),
    noise,
  })
const regression = aGate({ limit: 0.98 })

test('a floor of 1% resolves a speedup, but not whether something is 2% slower', () => {
  // 1.6497 standard deviations of 4 pairs by TTestPower of statsmodels 0.15.0, times sqrt(2) x 1%: 2.3%.
  expect(warningsOf([aGate()], noiseOf(0.01))).toEqual([])
  expect(warningsOf([regression], noiseOf(0.01))).toMatchInlineSnapshot(`
    [
      "the noise floor of this machine is wide for speedup: equal runs scatter by 1.0%. With 4 blocks it is only proven 2.4% past its limit of 0.98. Take more blocks or longer runs, or find what disturbs the machine and measure the floor again",
    ]
  `)
  expect(warningsOf([regression], noiseOf(0.01), 8)).toEqual([])
})

test('a floor of 20% resolves nothing', () => {
  expect(warningsOf([aGate()], noiseOf(0.2))).toHaveLength(1)
})

test('of two floors their mean variance tells', () => {
  const floors = (...deviations: number[]): NoiseComparison => ({
    status: 'measured',
    variants: deviations.map((deviation) => ({
      variant: 'baseline',
      deviation,
      floor: aNoiseFloor({ log_standard_deviation: deviation }),
      status: 'within',
    })),
  })
  // 2% of 1 / 0.98 is 1.6497 x sqrt(2) x 0.866%.
  expect(warningsOf([regression], floors(0.0086, 0.0086))).toEqual([])
  expect(warningsOf([regression], floors(0.012, 0.001))).toEqual([])
  expect(warningsOf([regression], floors(0.013, 0.001))).toHaveLength(1)
})

test('without a floor, or without a gate on the interval of a time, there is nothing to tell', () => {
  expect(warningsOf([aGate()], { status: 'not-measured', reason: 'none' })).toEqual([])
  const others = [
    aGate({ severity: 'info' }),
    aGate({ evidence: 'point' }),
    aGate({ metric: 'val_loss', statistic: 'ratio', direction: 'at_most', limit: 1.03 }),
  ]
  expect(warningsOf(others, noiseOf(0.2))).toEqual([])
})
