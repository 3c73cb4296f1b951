// Normal and F distributions against reference values of SciPy 1.17.1 (scipy.stats.norm and .f), printed with repr().
import { expect, test } from 'vitest'
import { fCdf, fQuantile } from '../../src/statistics/f-distribution.ts'
import { normalCdf } from '../../src/statistics/normal.ts'

test.each([
  [-5, 2.866515718791933e-7],
  [-1.5, 0.06680720126885807],
  [0, 0.5],
  [0.3, 0.6179114221889526],
  [2.5, 0.9937903346742238],
  [4, 0.9999683287581669],
])('norm.cdf(%d)', (z, expected) => {
  expect(normalCdf(z)).toBeCloseTo(expected, 14)
})

test('the normal CDF ends at 0 and 1', () => {
  expect([normalCdf(-40), normalCdf(40)]).toEqual([0, 1])
})

test.each([
  [2.5, 3, 18, 0.9077269602751014],
  [0.3, 7, 9, 0.063288257421225],
])('f.cdf(%d, %d, %d)', (f, df1, df2, expected) => {
  expect(fCdf(f, df1, df2)).toBeCloseTo(expected, 13)
})

test.each([
  [3, 18, 5.0918895204140115],
  [7, 9, 5.612865477376244],
  [1, 10, 10.04428927339658],
  [5, 38, 3.542382801353831],
])('f.ppf(0.99, %d, %d)', (df1, df2, expected) => {
  expect(fQuantile(0.99, df1, df2)).toBeCloseTo(expected, 11)
})

test('a quantile outside of 0 to 1 is refused', () => {
  expect(() => fQuantile(0.99, 0, 5)).toThrow('fQuantile(0.99, 0, 5): needs 0 < p < 1')
})
