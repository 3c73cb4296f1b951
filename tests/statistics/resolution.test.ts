// How coarsely numbers are written, from their digits and their bits.
import { expect, test } from 'vitest'
import { resolutionOf } from '../../src/statistics/resolution.ts'

test.each([
  ['two decimals', [0.11, 0.1, -0.12], 0.01],
  ['whole numbers', [3, 20], 1],
  ['one that has more digits than the others', [0.1, 0.1234], 0.0001],
  ['a zero, a multiple of anything', [0, 0.5], 0.5],
  ['bf16', [0.1064453125, 0.10595703125], 2 ** -11],
])('of %s', (_, values, step) => {
  expect(resolutionOf(values)).toBeCloseTo(step, 12)
})

test('of numbers in full precision is below a millionth of them', () => {
  expect(resolutionOf([Math.fround(0.1234567), Math.fround(0.7654321)])).toBeLessThan(1e-7)
  expect(resolutionOf([1 / 3, 2 / 3])).toBeLessThan(1e-15)
})

test('ends for the smallest and the largest numbers, and is not of what is not finite', () => {
  expect(resolutionOf([Number.MIN_VALUE, Number.MAX_VALUE])).toBeGreaterThan(0)
  expect(resolutionOf([0, 0])).toBe(Number.POSITIVE_INFINITY)
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
    expect(resolutionOf([0.1, bad])).toBeNull()
})
