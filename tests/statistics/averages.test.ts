import { expect, test } from 'vitest'
import { meanOf, medianOf, sumOf } from '../../src/statistics/averages.ts'

test('of nothing, the sum is 0, and there is no mean and no median', () => {
  expect([sumOf([]), meanOf([]), medianOf([])]).toEqual([0, Number.NaN, Number.NaN])
})

test('the median is the middle, or the mean of the two in the middle, in any order', () => {
  expect(medianOf([5])).toBe(5)
  expect(medianOf([9, 1, 10])).toBe(9)
  expect(medianOf([10, 1, 2, 9])).toBe(5.5)
  expect(meanOf([10, 1, 2, 9])).toBe(5.5)
})
