// BCa bounds beside the t bounds.
import { describe, expect, test } from 'vitest'
import { bootstrapBounds } from '../../../src/judge/gates/bootstrap.ts'

describe('bootstrap bounds', () => {
  // scipy.stats.bootstrap((x,), np.mean, confidence_level=0.9, n_resamples=200000, method='BCa') of SciPy 1.17.1;
  // three seeds agree to 2e-4 for the first and the second has the spread of 10,000 resamples.
  test.each([
    [[1.386, 1.402, 1.371, 1.395, 1.46, 1.388, 1.379, 1.391], 1.38575, 1.419, 5e-4],
    [[0.1, 0.2, 0.15, 0.3, 2, 0.25, 0.12, 0.18, 0.22, 0.5], 0.21, 0.933, 0.01],
  ])('of %j are those of SciPy', (values, lower, upper, tolerance) => {
    const found = bootstrapBounds(values, 0.95)
    expect(Math.abs((found?.lower ?? Number.NaN) - lower)).toBeLessThan(tolerance)
    expect(Math.abs((found?.upper ?? Number.NaN) - upper)).toBeLessThan(tolerance)
  })

  test('are the same at every reading', () => {
    const values = [1, 2, 3, 4, 5, 6, 7, 9]
    expect(bootstrapBounds(values, 0.95)).toEqual(bootstrapBounds(values, 0.95))
  })

  test('count half of the resamples that are equal to the estimate as below it', () => {
    // Zeros and ones: a resample's sum is binomial, and by symmetry its 5% and 95% quantiles are the bounds, 3 and 9 of 12.
    const values = [...Array<number>(6).fill(0), ...Array<number>(6).fill(1)]
    expect(bootstrapBounds(values, 0.95)).toEqual({ lower: 0.25, upper: 0.75 })
  })

  test('need 8 values', () => {
    expect(bootstrapBounds([1, 2, 3, 4, 5, 6, 7], 0.95)).toBeNull()
  })

  test('are the value itself when nothing scatters', () => {
    expect(bootstrapBounds(Array<number>(8).fill(2), 0.95)).toEqual({ lower: 2, upper: 2 })
  })
})
