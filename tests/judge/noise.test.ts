// The noise floor of a machine, and runs that scatter more than it.
import { describe, expect, test } from 'vitest'
import { assess } from '../../src/assess.ts'
import { gatesOf } from '../../src/config/experiment.ts'
import { compare } from '../../src/judge/compare.ts'
import { compareWithFloor, type NoiseFloor, noiseFloorOf, noiseFloorSchema } from '../../src/judge/noise.ts'
import { judge } from '../../src/judge/verdict.ts'
import { anExperiment, aRequest, aRunSummary, blocksOf, launchedPlan } from '../fixtures/builders.ts'

/** Both variants alternate between exp(-deviation) and exp(+deviation) of 5 ms. */
const alternating = (blocks: number, deviation: number) =>
  blocksOf(
    'seconds_per_sample',
    Array.from({ length: blocks }, () => ({ baseline: 1, optimized: 1 })),
  ).map((run) => ({
    ...run,
    secondsPerSample: 0.005 * Math.exp((run.block ?? 0) % 2 ? deviation : -deviation),
  }))

const floor: NoiseFloor = {
  machine: 'NVIDIA H200, NVIDIA H200',
  config_hash: 'c0ffee',
  runs: 10,
  degrees_of_freedom: 8,
  log_standard_deviation: 0.01,
}

describe('a noise floor', () => {
  test('is the spread of the logarithms within the variants', () => {
    // 5 values -d, +d, -d, +d, -d and so on: 24/5 d^2 around their mean for each variant, over 8 degrees of freedom.
    const found = noiseFloorOf(alternating(5, 0.01), 'c0ffee')
    expect(found?.log_standard_deviation).toBeCloseTo(Math.sqrt((2 * 24 * 0.01 ** 2) / 5 / 8), 12)
    expect(found).toMatchObject({ runs: 10, degrees_of_freedom: 8, machine: floor.machine })
    expect(noiseFloorSchema.parse(found)).toEqual(found)
  })

  test('needs 10 runs, and some scatter', () => {
    expect(noiseFloorOf(alternating(4, 0.01), 'c0ffee')).toBeNull()
    expect(noiseFloorOf(alternating(5, 0), 'c0ffee')).toBeNull()
  })

  test('has no warm-up launch in it', () => {
    const warmUp = aRunSummary({ block: null, secondsPerSample: 9 })
    expect(noiseFloorOf([...alternating(5, 0.01), warmUp], 'x')?.runs).toBe(10)
  })
})

describe('runs on a machine with a floor', () => {
  test('are within it, or above by the F test at 1%', () => {
    // Quotient of variances (4 blocks: 6 degrees of freedom) 4/3 d^2 / 0.01^2 against f.ppf(0.99, 6, 8) = 6.37 of SciPy 1.17.1.
    const limit = Math.sqrt((6.37 * 3) / 4) * 0.01
    expect(compareWithFloor(alternating(4, limit * 0.99), floor).state).toBe('within')
    expect(compareWithFloor(alternating(4, limit * 1.01), floor).state).toBe('above')
  })

  test('are not compared without a floor or without two runs of a variant', () => {
    expect(compareWithFloor(alternating(4, 0.01), null).state).toBe('not measured')
    expect(compareWithFloor(alternating(1, 0.01), floor).state).toBe('not measured')
  })

  test('are invalid above it, whatever their gates say', async () => {
    const experiment = anExperiment()
    const launched = await launchedPlan(experiment, ({ variant, seed }) => ({
      stepSeconds: (variant === 'baseline' ? 0.08 : 0.02) * (1 + 0.01 * (seed % 2)),
    }))
    const { runs } = assess(aRequest({ experiment }), launched)
    const verdictWith = (log_standard_deviation: number) =>
      judge(
        experiment,
        launched.map(({ outcome }) => outcome),
        runs,
        compare(runs, gatesOf(experiment)),
        { ...floor, log_standard_deviation },
      )
    expect(verdictWith(0.005)).toMatchObject({ verdict: 'passed', noise: { state: 'within' } })
    expect(verdictWith(0.001)).toMatchObject({ verdict: 'invalid', noise: { state: 'above' } })
    expect(verdictWith(0.001).reason).toContain('noise floor: runs of a variant scatter more')
  })
})
