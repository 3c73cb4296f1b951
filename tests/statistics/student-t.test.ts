// Student's t against reference values: scipy.stats.t.ppf and .cdf of SciPy 1.17.1, printed with repr().
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { studentTCdf, studentTQuantile } from '../../src/statistics/student-t.ts'

const QUANTILES: [p: number, df: number, t: number][] = [
  [0.95, 1, 6.313751514675037],
  [0.95, 2, 2.9199855803537242],
  [0.95, 3, 2.3533634348018233],
  [0.95, 4, 2.1318467863266495],
  [0.95, 5, 2.0150483733330233],
  [0.95, 7, 1.8945786050900062],
  [0.95, 15, 1.753050355692572],
  [0.95, 63, 1.6694022217068127],
  [0.95, 1000, 1.6463788172854643],
  [0.975, 3, 3.1824463052837078],
  [0.99, 3, 4.540702858568132],
  [1 - 0.05 / 3, 3, 3.7404897493201004],
  [1 - 0.05 / 3, 7, 2.6418596704980413],
  [0.999, 1, 318.30883898555015],
  [0.6, 3, 0.2766706623326898],
  [0.5, 3, 0],
  [0.05, 3, -2.353363434801824],
]

const PROBABILITIES: [t: number, df: number, p: number][] = [
  [0, 1, 0.5],
  [1, 1, 0.75],
  [-1, 1, 0.25],
  [0.5, 2.5, 0.6711510400651426],
  [-3, 10, 0.006671827511284785],
  [30, 3, 0.9999593235978642],
  [1e6, 1, 0.9999996816901138],
]

/** To 12 digits, relative to values above 1. */
const close = (value: number, expected: number) =>
  expect(Math.abs(value - expected)).toBeLessThan(1e-12 * Math.max(1, Math.abs(expected)))

test.each(QUANTILES)('the quantile at p = %d with %d degrees of freedom is %d', (p, df, t) => {
  close(studentTQuantile(p, df), t)
})

test.each(PROBABILITIES)('P(T <= %d) with %d degrees of freedom is %d', (t, df, p) => {
  close(studentTCdf(t, df), p)
})

describe('the quantile', () => {
  test('inverts the distribution function', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.001, max: 0.999, noNaN: true }),
        fc.integer({ min: 1, max: 200 }),
        (p, df) => {
          expect(studentTCdf(studentTQuantile(p, df), df)).toBeCloseTo(p, 11)
        },
      ),
    )
  })

  test('is exact near the centre, where digits could cancel', () => {
    expect(studentTCdf(studentTQuantile(0.49980063662741975, 200), 200)).toBeCloseTo(0.49980063662741975, 15)
  })

  test.each([
    [0, 3],
    [1, 3],
    [Number.NaN, 3],
    [0.95, 0],
    [0.95, Number.NaN],
  ])('has no value at p = %d with %d degrees of freedom', (p, df) => {
    expect(() => studentTQuantile(p, df)).toThrow(RangeError)
  })
})
