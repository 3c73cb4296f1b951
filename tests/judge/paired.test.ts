// Means and ratios over blocks with their one-sided bounds.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pairedMean, pairedRatio } from '../../src/judge/paired.ts'

const ratioOf = (...pairs: [numerator: number, denominator: number][]) =>
  pairedRatio(pairs.map(([numerator, denominator]) => ({ numerator, denominator })))

describe('a mean of differences', () => {
  test('has the bounds of a paired t interval', () => {
    // scipy.stats.ttest_rel(d, 0).confidence_interval(0.90) of SciPy 1.17.1: two sides of 5% each.
    const found = pairedMean([0.0004, -0.0002, 0.0003, 0.0001])
    expect(found?.estimate).toBeCloseTo(0.00015, 15)
    expect(found?.bounds?.lower).toBeCloseTo(-0.00016132071965191977, 14)
    expect(found?.bounds?.upper).toBeCloseTo(0.0004613207196519196, 14)
    expect(found).toMatchObject({ pairs: 4, confidence: { lower: 0.95, upper: 0.95 } })
  })

  test('has bounds at the mean when nothing scatters', () => {
    expect(pairedMean([0.25, 0.25, 0.25])).toMatchObject({
      estimate: 0.25,
      bounds: { lower: 0.25, upper: 0.25 },
    })
  })

  test('of one pair has no bounds', () => {
    expect(pairedMean([0.5])).toMatchObject({
      estimate: 0.5,
      bounds: null,
      pairs: 1,
      confidence: { lower: 0.95, upper: 0.95 },
    })
  })

  test('of no pair, or of a number that is not finite, is nothing', () => {
    for (const values of [[], [Number.NaN], [1, Number.POSITIVE_INFINITY], [1e308, 1e308]])
      expect(pairedMean(values)).toBeNull()
  })

  test('has no bounds where the variance overflows', () => {
    expect(pairedMean([1e308, -1e308])).toMatchObject({ estimate: 0, bounds: null })
  })
})

describe('a ratio', () => {
  test('worked by hand: 8/2 and 8/4 make the geometric mean of 4 and 2', () => {
    // Logs 2 ln2 and ln2: mean 1.5 ln2, s = ln2 / sqrt2, s / sqrt(n) = ln2 / 2, and t(0.95, 1) = tan(0.45 pi).
    const found = ratioOf([8, 2], [8, 4])
    const margin = Math.tan(0.45 * Math.PI) / 2
    expect(found?.estimate).toBeCloseTo(2 ** 1.5, 12)
    expect(found?.bounds?.lower).toBeCloseTo(2 ** (1.5 - margin), 12)
    expect(found?.bounds?.upper).toBeCloseTo(2 ** (1.5 + margin), 10)
  })

  test('of four blocks has the bounds that NumPy and SciPy give', () => {
    // exp(mean(l) -/+ t.ppf(0.95, 3) * std(l, ddof=1) / 2) with l = log(b) - log(o); NumPy, SciPy 1.17.1.
    const found = ratioOf([8.1, 2.5], [8.0, 2.6], [7.9, 2.4], [8.2, 2.6])
    expect(found?.estimate).toBeCloseTo(3.189550632932161, 12)
    expect(found?.bounds?.lower).toBeCloseTo(3.079760054620255, 12)
    expect(found?.bounds?.upper).toBeCloseTo(3.3032551431323585, 12)
  })

  test('of a drift that both runs of a block share is exact', () => {
    const found = ratioOf([3, 1], [6, 2], [12, 4])
    expect(found?.bounds?.lower).toBeCloseTo(3, 12)
    expect(found?.bounds?.upper).toBeCloseTo(3, 12)
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('with %d in it is nothing', (bad) => {
    expect(ratioOf([3, 1], [bad, 1])).toBeNull()
    expect(ratioOf([3, 1], [1, bad])).toBeNull()
  })

  test('past what a double holds is nothing', () => {
    expect(ratioOf([1e308, 5e-324])).toBeNull()
    expect(ratioOf([1e300, 1], [1, 1])).toMatchObject({ estimate: expect.any(Number), bounds: null })
  })
})

describe('for any times', () => {
  const time = fc.double({ min: 1e-6, max: 1e6, noNaN: true })
  const pairs = fc.array(fc.tuple(time, time), { minLength: 2, maxLength: 8 })

  test('the unit of time does not matter', () => {
    fc.assert(
      fc.property(pairs, fc.double({ min: 1e-3, max: 1e3, noNaN: true }), (times, scale) => {
        const scaled = ratioOf(...times.map(([a, b]): [number, number] => [a * scale, b * scale]))
        expect(relative(scaled?.estimate, ratioOf(...times)?.estimate)).toBeLessThan(1e-9)
      }),
    )
  })

  test('swapping the variants inverts the ratio and its bounds', () => {
    fc.assert(
      fc.property(pairs, (times) => {
        const there = ratioOf(...times)
        const back = ratioOf(...times.map(([a, b]): [number, number] => [b, a]))
        expect(relative(back?.estimate, 1 / Number(there?.estimate))).toBeLessThan(1e-9)
        // A bound may overflow on one side alone, where it underflows on the other.
        if (there?.bounds && back?.bounds && there.bounds.lower > 0)
          expect(relative(back.bounds.upper, 1 / there.bounds.lower)).toBeLessThan(1e-6)
      }),
    )
  })

  test('the estimate lies between its bounds, and within its pairs', () => {
    fc.assert(
      fc.property(pairs, (times) => {
        const { estimate = Number.NaN, bounds } = ratioOf(...times) ?? {}
        const ratios = times.map(([a, b]) => a / b)
        expect(estimate).toBeGreaterThanOrEqual(Math.min(...ratios) * (1 - 1e-9))
        expect(estimate).toBeLessThanOrEqual(Math.max(...ratios) * (1 + 1e-9))
        if (bounds) expect([bounds.lower, estimate, bounds.upper].toSorted((a, b) => a - b)[1]).toBe(estimate)
      }),
    )
  })
})

/** NaN, which no comparison accepts, if one of both is not there. */
function relative(value: number | undefined, expected: number | undefined): number {
  return Math.abs(Number(value) / Number(expected) - 1)
}
