// How much an experiment can see, against SciPy 1.17.1 (scipy.stats.nct.sf) and statsmodels 0.15.0 (TTestPower).
import { describe, expect, test } from 'vitest'
import { pairsToResolve, proofPower, resolvableDistance } from '../../src/statistics/power.ts'

describe('the chance of proof', () => {
  test.each([
    [3, 2, 0.95, 0.6172222311084434],
    [2.5, 3, 0.95, 0.6059123277027985],
    [2.5, 7, 1 - 0.05 / 3, 0.4873805028552509],
    [2, 19, 0.95, 0.6114844665167816],
    [5, 1, 0.95, 0.565886700369409],
  ])('nct.sf(t, ncp=%d, df=%d) at confidence %d', (noncentrality, df, confidence, expected) => {
    expect(proofPower(noncentrality, df, confidence)).toBeCloseTo(expected, 7)
  })

  test('at the limit itself is what the bound may err', () => {
    expect(proofPower(0, 4, 0.95)).toBeCloseTo(0.05, 7)
  })
})

describe('the resolvable distance', () => {
  test.each([
    [3, 0.95, 2.2972747898357215],
    [4, 0.95, 1.649724574639329],
    [8, 0.95, 0.9781560854611864],
    [8, 1 - 0.05 / 3, 1.262249395863438],
    [20, 0.95, 0.5769171133190019],
  ])('of %d pairs at confidence %d, in standard deviations', (pairs, confidence, expected) => {
    expect(resolvableDistance(1, pairs, confidence)).toBeCloseTo(expected, 6)
  })

  test('grows with the scatter, and is 0 without any', () => {
    expect(resolvableDistance(0.002, 4, 0.95)).toBeCloseTo(0.002 * 1.649724574639329, 9)
    expect(resolvableDistance(0, 4, 0.95)).toBe(0)
  })
})

describe('the pairs to resolve a distance', () => {
  // TTestPower().solve_power(d, alpha=0.05, power=0.8, alternative='larger') = 26.14, 7.73 and 155.93.
  test.each([
    [0.5, 27],
    [1, 8],
    [0.2, 156],
  ])('of %d standard deviations are %d', (distance, expected) => {
    expect(pairsToResolve(1, distance, 0.95)).toBe(expected)
  })

  test('are two without scatter, and unknown beyond 1000 or for no distance', () => {
    expect(pairsToResolve(0, 0.1, 0.95)).toBe(2)
    expect(pairsToResolve(1, 0.01, 0.95)).toBeNull()
    expect(pairsToResolve(1, 0, 0.95)).toBeNull()
  })
})
