// A training that finds what an earlier launch has left starts where that one ended.
import { expect, test } from 'vitest'
import { carriedOverWarnings } from '../../src/judge/carried-over.ts'
import { aRunSummary } from '../fixtures/builders.ts'

/** Of the baseline, by the first and last training loss of each run; the first is for warming up. */
const warningsOf = (...losses: readonly (readonly [number, number | null])[]) =>
  carriedOverWarnings(
    losses.map(([first, lastTrainLoss], index) =>
      aRunSummary({ block: index === 0 ? null : index, firstTrainLosses: [first], lastTrainLoss }),
    ),
  )

test('runs that start anew start above what one has learned', () => {
  expect(warningsOf([1.2, 0.4], [1.1, 0.01], [1.3, 0.01])).toEqual([])
  expect(warningsOf([1.2, 0.4], [0.3, 0.01], [1.3, 0.01])).toEqual([])
})

test('runs that all start below it are asked about', () => {
  expect(warningsOf([1.2, 0.4], [0.4, 0.2], [0.2, 0.1])).toEqual([
    'baseline: every run starts with a training loss that block-null-baseline had at its end only; does each go on from what an earlier launch has left?',
  ])
})

test('of a run that learned little, that reports no loss, or that is alone, nothing can be told', () => {
  expect(warningsOf([1.2, 0.7], [0.6, 0.5])).toEqual([])
  expect(warningsOf([1.2, null], [0.1, null])).toEqual([])
  expect(warningsOf([-1, -2], [-2, -3])).toEqual([])
  expect(warningsOf([1.2, 0.4])).toEqual([])
})
