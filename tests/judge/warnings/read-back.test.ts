// What runs of one variant read back differently is a warning.
import { expect, test } from 'vitest'
import { readBackWarnings } from '../../../src/judge/warnings/read-back.ts'
import { anExperiment, aRunSummary } from '../../fixtures/builders.ts'

const optimized = (...all: Record<string, boolean>[]) =>
  all.map((effective, index) => aRunSummary({ variant: 'optimized', block: index + 1, effective }))

test('that a switch fell back in some runs of a variant', () => {
  const runs = [
    aRunSummary({ effective: { fused: false } }),
    ...optimized({ fused: true }, { fused: false }, {}),
  ]
  expect(readBackWarnings(anExperiment(), runs)).toEqual([
    'optimized: its runs read back different values of fused; did a switch fall back in some of them?',
  ])
})

test('not that the variants differ', () => {
  const runs = [aRunSummary({ effective: { fused: false } }), ...optimized({ fused: true }, { fused: true })]
  expect(readBackWarnings(anExperiment(), runs)).toEqual([])
})

test('that no switch shows in what is read back, which a misspelt key does', () => {
  const runs = [aRunSummary({ effective: { fused: false } }), ...optimized({ fused: false })]
  expect(readBackWarnings(anExperiment(), runs)).toEqual([
    'both variants read back the same settings; does the trainer know the keys in which they differ?',
  ])
  expect(readBackWarnings(anExperiment({ mode: 'aa' }), runs)).toEqual([])
  expect(readBackWarnings(anExperiment({ kind: 'regression' }), runs)).toEqual([])
  expect(readBackWarnings(anExperiment({ kind: 'recipe' }), runs)).toHaveLength(1)
  const { variants } = anExperiment()
  const changed = (difference: object) =>
    anExperiment({ variants: { ...variants, optimized: { ...variants.optimized, ...difference } } })
  expect(readBackWarnings(changed({ env: { OMP_NUM_THREADS: '2' } }), runs)).toEqual([])
  expect(readBackWarnings(changed({ revision: 'feature' }), runs)).toEqual([])
  expect(readBackWarnings(anExperiment(), runs.slice(0, 1))).toEqual([])
  expect(readBackWarnings(anExperiment(), [aRunSummary({ effective: {} }), ...optimized({})])).toEqual([])
})
