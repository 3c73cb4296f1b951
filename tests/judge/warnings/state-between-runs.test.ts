// A training that finds what an earlier launch has left starts far below where that one started.
import { expect, test } from 'vitest'
import { stateBetweenRunsWarnings } from '../../../src/judge/warnings/state-between-runs.ts'
import { aRunSummary } from '../../fixtures/builders.ts'

/** Of the baseline, by the first and last training loss of each run; the first is for warming up. */
const warningsOf = (...losses: readonly (readonly [number, number | null])[]) =>
  stateBetweenRunsWarnings({
    runs: losses.map(([first, lastTrainLoss], index) =>
      aRunSummary({ runId: `run-${index}`, block: index || null, firstTrainLosses: [first], lastTrainLoss }),
    ),
  })
const warning = (runId: string) =>
  expect.stringMatching(new RegExp(`^baseline: every run after ${runId} .*less than half .*from scratch$`))

test('runs that start anew start as high as one that has learned', () => {
  expect(warningsOf([1.2, 0.4], [1.1, 0.01], [1.3, 0.01])).toEqual([])
  expect(warningsOf([1.2, 0.4], [0.61, 0.01], [0.3, 0.01])).toEqual([])
})

test('runs that all start far below it are asked about, converged or not', () => {
  expect(warningsOf([1.2, 0.4], [0.4, 0.2], [0.2, 0.1])).toEqual([warning('run-0')])
  expect(warningsOf([2, 0.01], [0.0101, 0.009], [0.009, 0.009], [0.011, 0.01])).toEqual([warning('run-0')])
})

test('so are those after the first measured run, where the warm-up launch was too short to learn', () => {
  expect(warningsOf([1.2, 1], [1, 0.1], [0.1, 0.05], [0.05, 0.02])).toEqual([warning('run-1')])
})

test('of a run that learned little, that reports no loss, or with one after it, nothing can be told', () => {
  expect(warningsOf([1.2, 0.7], [0.5, 0.4], [0.5, 0.4])).toEqual([])
  expect(warningsOf([1.2, null], [0.1, null], [0.1, null])).toEqual([])
  expect(warningsOf([-1, -2], [-2, -3], [-2, -3])).toEqual([])
  expect(warningsOf([1.2, 0.4], [0.1, 0.1])).toEqual([])
})
