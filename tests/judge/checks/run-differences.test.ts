// What differs is told with those that have it, in few words.
import { expect, test } from 'vitest'
import { describeDifference } from '../../../src/judge/checks/run-differences.ts'
import { aRunSummary } from '../../fixtures/builders.ts'

/** Of blocks, the data hash in the baseline and in the optimized variant. */
const hashes = (...blocks: readonly (readonly [string, string])[]) =>
  describeDifference(
    'data hashes',
    blocks.flatMap(([baseline, optimized], index) => [
      aRunSummary({ block: index + 1, dataHash: baseline }),
      aRunSummary({ block: index + 1, variant: 'optimized', dataHash: optimized }),
    ]),
    ({ dataHash }) => dataHash,
  )

test('one value is no difference', () => {
  expect(hashes(['a', 'a'], ['a', 'a'])).toBeNull()
})

test('values of the variants are theirs', () => {
  expect(hashes(['a', 'b'], ['a', 'b'])).toBe('data hashes differ: a (baseline) / b (optimized)')
})

test('a value of one run is that of this run', () => {
  expect(hashes(['a', 'a'], ['a', 'b'])).toBe(
    'data hashes differ: a (block-1-baseline, block-1-optimized and 1 more) / b (block-2-optimized)',
  )
})

test('many values, and long ones, are cut', () => {
  expect(hashes(['a', 'b'], ['c', 'd'], ['e', 'f'])).toMatch(/: a \(.* \/ d \(block-2-optimized\)$/)
  expect(hashes(['a'.repeat(1e6), 'b'])?.length).toBeLessThan(1100)
})
