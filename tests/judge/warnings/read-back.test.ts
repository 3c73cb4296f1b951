// What runs of one variant read back differently is a warning.
import { expect, test } from 'vitest'
import type { Experiment } from '../../../src/config/experiment.ts'
import { readBackWarnings } from '../../../src/judge/warnings/read-back.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import { anExperiment, aRunSummary } from '../../fixtures/builders.ts'

const warningsOf = (experiment: Experiment, measured: readonly RunSummary[]) =>
  readBackWarnings({ experiment, measured })

const optimized = (...all: Record<string, boolean>[]) =>
  all.map((effective, index) => aRunSummary({ variant: 'optimized', block: index + 1, effective }))

test('that a switch fell back in some runs of a variant', () => {
  const runs = [
    aRunSummary({ effective: { fused: false } }),
    ...optimized({ fused: true }, { fused: false }, {}),
  ]
  expect(warningsOf(anExperiment(), runs)).toEqual([
    expect.stringMatching(/^optimized: .*different values of fused, .*switch/),
  ])
})

test('not that the variants differ', () => {
  const runs = [aRunSummary({ effective: { fused: false } }), ...optimized({ fused: true }, { fused: true })]
  expect(warningsOf(anExperiment(), runs)).toEqual([])
})

test('that no switch shows in what is read back, which a misspelt key does', () => {
  const runs = [aRunSummary({ effective: { fused: false } }), ...optimized({ fused: false })]
  expect(warningsOf(anExperiment(), runs)).toEqual([
    expect.stringMatching(/^both variants read back the same settings, .*keys/),
  ])
  expect(warningsOf(anExperiment({ mode: 'aa' }), runs)).toEqual([])
  expect(warningsOf(anExperiment({ kind: 'regression' }), runs)).toEqual([])
  expect(warningsOf(anExperiment({ kind: 'recipe' }), runs)).toHaveLength(1)
  const { variants } = anExperiment()
  const changed = (difference: object) =>
    anExperiment({ variants: { ...variants, optimized: { ...variants.optimized, ...difference } } })
  expect(warningsOf(changed({ env: { OMP_NUM_THREADS: '2' } }), runs)).toEqual([])
  expect(warningsOf(changed({ revision: 'feature' }), runs)).toEqual([])
  expect(warningsOf(anExperiment(), runs.slice(0, 1))).toEqual([])
  expect(warningsOf(anExperiment(), [aRunSummary({ effective: {} }), ...optimized({})])).toEqual([])
})
