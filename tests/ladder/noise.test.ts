// How much two launches of one training differ by themselves, and what that makes of a ratio.
import { describe, expect, test } from 'vitest'
import { type Contrast, effectOf, noiseOf } from '../../src/ladder/noise.ts'
import { meanOf } from '../../src/statistics/averages.ts'
import { seededRandom } from '../../src/statistics/random.ts'
import { normal } from '../fixtures/noise.ts'

describe('the noise of a ladder', () => {
  test('is unknown without two baseline launches in one sitting', () => {
    expect(noiseOf([[1], [2]])).toBeNull()
  })

  test('comes from neighbours alone: half their mean square difference, over all sittings', () => {
    // Differences 0.02, -0.02 and 0.04: (4 + 4 + 16) / 3 / 2 = 4 in units of 1e-4.
    const noise = noiseOf([
      [0, 0.02, 0],
      [5, 5.04],
    ])
    expect(noise?.differences).toBe(3)
    expect(noise?.deviation).toBeCloseTo(0.02, 12)
  })

  test('has fewer degrees of freedom than differences, since neighbours share a launch', () => {
    // 2 m^2 / sum(3 m - 1): pairs alone have one each, three launches in a row 8 / 5.
    expect(noiseOf([[0, 0.01]])?.degreesOfFreedom).toBe(1)
    expect(noiseOf([[0, 0.01], [0, 0.02], [3]])?.degreesOfFreedom).toBe(2)
    expect(noiseOf([[0, 0.01, 0.03]])?.degreesOfFreedom).toBeCloseTo(8 / 5, 12)
    expect(
      noiseOf([
        [0, 0.01, 0.03],
        [0, 0.02],
      ])?.degreesOfFreedom,
    ).toBeCloseTo(18 / 7, 12)
  })

  test('has the mean and the variance that its degrees of freedom say', () => {
    const random = seededRandom(5)
    const variances = Array.from({ length: 20_000 }, () => {
      const noise = noiseOf([Array.from({ length: 5 }, () => normal(random))])
      return (noise?.deviation ?? Number.NaN) ** 2
    })
    const mean = meanOf(variances)
    const variance = meanOf(variances.map((value) => (value - mean) ** 2))
    const { degreesOfFreedom = Number.NaN } = noiseOf([[0, 1, 0, 1, 0]]) ?? {}
    expect(mean).toBeCloseTo(1, 1)
    expect((2 * mean ** 2) / variance / degreesOfFreedom).toBeCloseTo(1, 1)
  })

  test('hardly grows by a slow drift', () => {
    const drifting = Array.from({ length: 11 }, (_, index) => 0.001 * index)
    expect(noiseOf([drifting])?.deviation).toBeCloseTo(0.001 / Math.SQRT2, 12)
  })
})

const NOISE = { deviation: 0.01, differences: 4, degreesOfFreedom: 3 }

function contrast(
  coefficients: Readonly<Record<string, number>>,
  standardErrors: Readonly<Record<string, number>> = {},
): Contrast {
  return new Map(
    Object.entries(coefficients).map(([launch, coefficient]) => [
      launch,
      { coefficient, standardError: standardErrors[launch] ?? 0 },
    ]),
  )
}

describe('an effect', () => {
  test('has the t interval of its degrees of freedom', () => {
    // t(0.975, 3) = 3.182446 (SciPy); half width 3.182446 * 0.01 * sqrt(1.5).
    const { ratio, bounds } = effectOf(Math.log(2), NOISE, contrast({ rung: -1, before: 0.5, after: 0.5 }))
    expect(ratio).toBeCloseTo(2, 12)
    expect(Math.log((bounds?.upper ?? 0) / 2)).toBeCloseTo(3.182446 * 0.01 * Math.sqrt(1.5), 6)
    expect(Math.log(2 / (bounds?.lower ?? 0))).toBeCloseTo(3.182446 * 0.01 * Math.sqrt(1.5), 6)
  })

  test('has no bounds where the noise is unknown', () => {
    expect(effectOf(0, null, contrast({ rung: -1, before: 1 }))).toEqual({ ratio: 1, bounds: null })
  })

  test('does not scatter by a launch that both of its estimates share', () => {
    const [one, other] = [contrast({ a: -1, before: 1 }), contrast({ b: -1, before: 1 })]
    const { bounds } = effectOf(0, NOISE, one, other)
    expect(Math.log(bounds?.upper ?? 0)).toBeCloseTo(3.182446 * 0.01 * Math.sqrt(2), 6)
  })

  test('scatters by what the steps of a launch tell besides, with the degrees of freedom of both', () => {
    const { bounds } = effectOf(0, NOISE, contrast({ rung: -1, before: 1 }, { rung: 0.03 }))
    // Variances 2 x 0.01^2 with 3 and 0.03^2 with 4 degrees of freedom: t(0.975, 5.606178) = 2.489189 (SciPy).
    expect(Math.log(bounds?.upper ?? 0)).toBeCloseTo(0.0825571, 6)
    const lessTheOther = effectOf(0, NOISE, contrast({ rung: 1 }), contrast({ before: 1 }, { before: 0.03 }))
    expect(Math.log(lessTheOther.bounds?.upper ?? 0)).toBeCloseTo(0.0825571, 6)
  })
})
