// A noise floor that is too wide to hold anything against it is told.
import { expect, test } from 'vitest'
import type { NoiseComparison } from '../../../src/judge/checks/noise.ts'
import { coarseNoiseFloorWarnings } from '../../../src/judge/warnings/coarse-noise-floor.ts'
import { aGate } from '../../fixtures/builders.ts'
import { aNoiseFloor } from '../../fixtures/noise-floors.ts'

const noiseOf = (log_standard_deviation: number): NoiseComparison => ({
  status: 'measured',
  variants: [
    {
      variant: 'baseline',
      deviation: log_standard_deviation,
      floor: aNoiseFloor({ log_standard_deviation }),
      state: 'within',
    },
  ],
})
const design = { blocks: 4, confidence: 0.95 }
const regression = aGate({ limit: 0.98 })

test('a floor of 1% resolves a speedup, but not whether something is 2% slower', () => {
  // 1.6497 standard deviations of 4 pairs by TTestPower of statsmodels 0.15.0, times sqrt(2) x 1%: 2.3%.
  expect(coarseNoiseFloorWarnings([aGate()], noiseOf(0.01), design)).toEqual([])
  expect(coarseNoiseFloorWarnings([regression], noiseOf(0.01), design)).toMatchInlineSnapshot(`
    [
      "the noise floor of this machine is wide for speedup (runs scatter by 1.0% by themselves): with 4 blocks it is only proven 2.4% past its limit of 0.98; take more blocks or longer runs, or find what disturbs the machine and measure the floor again",
    ]
  `)
  expect(coarseNoiseFloorWarnings([regression], noiseOf(0.01), { ...design, blocks: 8 })).toEqual([])
})

test('a floor of 20% resolves nothing', () => {
  expect(coarseNoiseFloorWarnings([aGate()], noiseOf(0.2), design)).toHaveLength(1)
})

test('of two floors their mean variance tells', () => {
  const floors = (...deviations: number[]): NoiseComparison => ({
    status: 'measured',
    variants: deviations.map((deviation) => ({
      variant: 'baseline',
      deviation,
      floor: aNoiseFloor({ log_standard_deviation: deviation }),
      state: 'within',
    })),
  })
  // 2% of 1 / 0.98 is 1.6497 x sqrt(2) x 0.866%.
  expect(coarseNoiseFloorWarnings([regression], floors(0.0086, 0.0086), design)).toEqual([])
  expect(coarseNoiseFloorWarnings([regression], floors(0.012, 0.001), design)).toEqual([])
  expect(coarseNoiseFloorWarnings([regression], floors(0.013, 0.001), design)).toHaveLength(1)
})

test('without a floor, or without a gate on the interval of a time, there is nothing to tell', () => {
  expect(coarseNoiseFloorWarnings([aGate()], { status: 'not measured', reason: 'none' }, design)).toEqual([])
  const others = [
    aGate({ severity: 'info' }),
    aGate({ evidence: 'point' }),
    aGate({ metric: 'val_loss', statistic: 'ratio', direction: 'at_most', limit: 1.03 }),
  ]
  expect(coarseNoiseFloorWarnings(others, noiseOf(0.2), design)).toEqual([])
})
