// What runs of one variant read back differently is a warning.
import { expect, test } from 'vitest'
import { readBackWarnings } from '../../src/judge/read-back.ts'
import { aRunSummary } from '../fixtures/builders.ts'

const optimized = (...all: Record<string, boolean>[]) =>
  all.map((effective, index) => aRunSummary({ variant: 'optimized', block: index + 1, effective }))

test('that a switch fell back in some runs of a variant', () => {
  const runs = [
    aRunSummary({ effective: { fused: false } }),
    ...optimized({ fused: true }, { fused: false }, {}),
  ]
  expect(readBackWarnings(runs)).toEqual([
    'optimized: its runs read back different values of fused; did a switch fall back in some of them?',
  ])
})

test('not that the variants differ', () => {
  const runs = [aRunSummary({ effective: { fused: false } }), ...optimized({ fused: true }, { fused: true })]
  expect(readBackWarnings(runs)).toEqual([])
})
