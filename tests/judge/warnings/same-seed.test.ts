// Both runs of a block should start alike, and end alike if they trained alike; a warning asks why not.
import { describe, expect, test } from 'vitest'
import type { Experiment } from '../../../src/config/experiment.ts'
import { sameSeedWarnings } from '../../../src/judge/warnings/same-seed.ts'
import { anExperiment, aRunSummary } from '../../fixtures/builders.ts'

type Losses = readonly number[]

const pair = (baseline: Losses, optimized: Losses) => [baseline, optimized] as const

/** Both runs report the loss of every step. */
const COMPARED = { steps: 40, firstDivergentStep: 1, largestDifference: 0, largestAtStep: 1 }

/** One pair of runs for each pair of losses. */
const warningsOf = (
  pairs: readonly ReturnType<typeof pair>[],
  kind: Experiment['kind'] = 'same-work',
  sameSeed: typeof COMPARED | null = COMPARED,
) =>
  sameSeedWarnings({
    experiment: anExperiment({ kind }),
    measured: pairs.flatMap(([baseline, optimized], index) => [
      aRunSummary({ block: index + 1, firstTrainLosses: baseline }),
      aRunSummary({ block: index + 1, variant: 'optimized', firstTrainLosses: optimized, sameSeed }),
    ]),
  })

test('first losses that rounding alone parts are no news, whatever the next ones are', () => {
  expect(warningsOf([pair([1.2, 1.1], [1.2119, 0.9])])).toEqual([])
  expect(warningsOf([pair([-1.2], [-1.2119])])).toEqual([])
  expect(warningsOf([pair([], []), pair([1.2], [])])).toEqual([])
})

test('the first block whose losses start apart is named', () => {
  const pairs = [pair([1.2], [1.2]), pair([1.2], [1.187]), pair([1.2], [1.5])]
  expect(warningsOf(pairs)).toEqual([
    expect.stringMatching(/^block 2: .* 1\.200 and 1\.187, over 1% apart .* same weights and data/),
  ])
  expect(warningsOf(pairs, 'regression')).toHaveLength(1)
  expect(warningsOf([pair([-1.2], [-1.2121])])).toHaveLength(1)
})

test('of runs that do not report every loss, the first ones may be of different steps', () => {
  expect(warningsOf([pair([1.2], [1.5])], 'same-work', null)).toEqual([])
})

test('a recipe may change what its loss is of', () => {
  expect(warningsOf([pair([1.2], [1.5])], 'recipe')).toEqual([])
})

describe('a training whose losses agree to the last bit', () => {
  const warningsAt = (
    firstDivergentStep: number | null,
    valLoss: number,
    kind?: Experiment['kind'],
    firstTrainLosses: Losses = [1.2, 1.1],
  ) => {
    const sameSeed = { ...COMPARED, firstDivergentStep }
    const measured = [
      aRunSummary({ firstTrainLosses, metrics: { val_loss: 0.02 } }),
      aRunSummary({ variant: 'optimized', firstTrainLosses, sameSeed, metrics: { val_loss: valLoss } }),
    ]
    return sameSeedWarnings({ experiment: anExperiment({ kind: kind ?? 'same-work' }), measured })
  }

  test('ends with the same model', () => {
    expect(warningsAt(null, 0.02001)).toEqual([])
    expect(warningsAt(null, 0.02003)).toHaveLength(1)
    expect(warningsAt(null, 0.0003)).toEqual([
      expect.stringMatching(
        /^block 1: .*held-out losses are 0\.02000 and 0\.0003000\. .*same data and weights$/,
      ),
    ])
  })

  test('is another one after the first bit that differs, and in a recipe', () => {
    expect(warningsAt(39, 0.0003)).toEqual([])
    expect(warningsAt(null, 0.0003, undefined, [0, 0])).toEqual([])
    expect(warningsAt(null, 0.0003, 'recipe')).toEqual([])
  })
})
