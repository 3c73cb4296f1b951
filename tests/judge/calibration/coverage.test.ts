// Bounds by simulation: they hold the truth as often as they say.
import { describe, expect, test } from 'vitest'
import { bothAt, pairedMean, pairedRatio } from '../../../src/judge/paired.ts'
import { pairsToResolve, resolvableDistance } from '../../../src/statistics/power.ts'
import { seededRandom } from '../../../src/statistics/random.ts'
import { normal } from '../../fixtures/noise.ts'
import { blocksOf, margin, NOISE } from './experiments.ts'

const TRIALS = 3000
const share = (trials: number, holds: () => boolean) =>
  Array.from({ length: trials }, holds).filter(Boolean).length / trials

describe.each([3, 4, 8])('of %d blocks with log-normal noise', (count) => {
  test.each([0.95, 1 - 0.05 / 3])(
    'the lower bound at confidence %d lies below the truth that often',
    (confidence) => {
      const random = seededRandom(2)
      const noise = NOISE['log-normal']
      if (!noise) throw new Error('no noise')
      const covered = share(
        TRIALS,
        () =>
          (pairedRatio(blocksOf(count, 3, noise, random), bothAt(confidence))?.bounds?.lower ?? Number.NaN) <=
          3,
      )
      expect(Math.abs(covered - confidence)).toBeLessThan(margin(confidence, TRIALS))
    },
  )
})

test('what is called detectable is detected in 80% of experiments', () => {
  const random = seededRandom(4)
  const distance = resolvableDistance(0.02, 6, 0.95)
  const proven = share(TRIALS, () => {
    const values = Array.from({ length: 6 }, () => distance + 0.02 * normal(random))
    return (pairedMean(values)?.bounds?.lower ?? Number.NaN) > 0
  })
  expect(Math.abs(proven - 0.8)).toBeLessThan(margin(0.8, TRIALS))
})

test('as many seeds as are called enough resolve a loss limit in at least 80% of experiments', () => {
  const random = seededRandom(5)
  const seeds = pairsToResolve(0.0008, 0.001, 0.95) ?? 0
  const resolved = share(TRIALS, () => {
    const values = Array.from({ length: seeds }, () => 0.0008 * normal(random))
    return (pairedMean(values)?.bounds?.upper ?? Number.NaN) < 0.001
  })
  expect(resolved).toBeGreaterThan(0.8 - margin(0.8, TRIALS))
  expect(seeds).toBeGreaterThan(3)
})
