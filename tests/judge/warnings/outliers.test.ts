// Outliers and two modes are told, and nothing is excluded for them.
import { describe, expect, test } from 'vitest'
import { hasTwoModes, outlierWarnings } from '../../../src/judge/warnings/outliers.ts'
import { seededRandom } from '../../../src/statistics/random.ts'
import { aRunSummary, atPace } from '../../fixtures/builders.ts'
import { normal } from '../../fixtures/noise.ts'

const warningsOf = (seconds: readonly number[]) =>
  outlierWarnings({
    measured: seconds.map((pace, index) => atPace(aRunSummary({ block: index + 1 }), pace)),
  })

test.each([1, 0.001])('a run unlike all others is named, at about %d s a sample', (unit) => {
  const unlike = (other: number) => warningsOf([1, 1.01, 0.99, other, 1, 1.01].map((one) => one * unit))
  expect(unlike(1.3)).toEqual([expect.stringMatching(/^block-4-baseline is an outlier: slower .*interval/)])
  expect(unlike(0.7)).toEqual([expect.stringMatching(/^block-4-baseline is an outlier: faster .*interval/)])
})

test('two speeds are told', () => {
  expect(warningsOf([1, 1.1, 1.001, 1.101, 1.002, 1.1])).toEqual([
    expect.stringMatching(/^baseline: .*two groups of different speed.*interval.*two states/),
  ])
})

test.each([
  ['equal runs', [1, 1, 1, 1, 1, 1]],
  ['runs that differ by less than 2%', [1, 1, 1, 1, 1, 1.019]],
  ['runs that all scatter by more than 2%', [1, 1.06, 0.94, 1.03, 0.97, 1.09]],
  ['five runs, which are too few', [1, 1.001, 1, 1.001, 2]],
])('%s are no matter', (_, seconds) => {
  expect(warningsOf(seconds)).toEqual([])
})

describe('of 2000 experiments with normal noise', () => {
  test.each([6, 8])('at most 3%% seem to have two modes in %d runs', (runs) => {
    const random = seededRandom(3)
    const seen = Array.from({ length: 2000 }, () =>
      hasTwoModes(Array.from({ length: runs }, () => 0.1 * normal(random))),
    ).filter(Boolean).length
    expect(seen / 2000).toBeLessThan(0.03)
  })

  test.each([6, 8, 16])(
    'at most 3%% have a warning where runs scatter by 2%% (%d runs of a variant)',
    (runs) => {
      const random = seededRandom(4)
      const warned = Array.from({ length: 2000 }, () =>
        warningsOf(Array.from({ length: runs }, () => Math.exp(0.02 * normal(random)))),
      ).filter((warnings) => warnings.length > 0).length
      expect(warned / 2000).toBeLessThan(0.03)
    },
  )
})
