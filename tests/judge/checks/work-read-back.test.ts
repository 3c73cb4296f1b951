// Runs that read back other work are unequal work, whatever their config says.
import { describe, expect, test } from 'vitest'
import { type Experiment, VARIANTS } from '../../../src/config/experiment.ts'
import { checkEqualWork } from '../../../src/judge/checks/equal-work.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import { anExperiment, aRunSummary } from '../../fixtures/builders.ts'

const [ALL, QUARTER] = ['1 of 1 pairs', '1 of 4 pairs']
type Effective = RunSummary['effective']

/** Two blocks; each variant's runs read back these. */
function equalWork(
  effective: Readonly<Record<'baseline' | 'optimized', readonly [Effective, Effective]>>,
  experiment: Experiment = anExperiment(),
  workKeys: readonly string[] = ['inverse_terms'],
) {
  const runs = VARIANTS.flatMap((variant) =>
    effective[variant].map((own, index) =>
      aRunSummary({
        variant,
        block: index + 1,
        effective: own,
        workKeys: workKeys.filter((key) => own[key] !== undefined),
      }),
    ),
  )
  return checkEqualWork({ experiment, measured: runs, configs: null })
}

const work = (inverse_terms: string, fused = false): Effective => ({ inverse_terms, fused })
const both = (own: Effective): [Effective, Effective] => [own, own]
const LESS = { baseline: both(work(ALL)), optimized: both(work(QUARTER, true)) }
const revisions = (kind: Experiment['kind']) => {
  const { variants } = anExperiment()
  return anExperiment({
    kind,
    variants: { ...variants, baseline: { ...variants.baseline, revision: 'merge-base' } },
  })
}

describe('between the variants', () => {
  test('of one work, it must be equal; key, values and remedy are told', () => {
    expect(equalWork(LESS)).toMatchInlineSnapshot(`
      {
        "detail": "read-back values of inverse_terms differ: 1 of 1 pairs (baseline) / 1 of 4 pairs (optimized). Find the switch that changes the work, or move it under recipe: and set kind: recipe",
        "name": "equal work",
        "status": "failed",
      }
    `)
    expect(equalWork(LESS, anExperiment({ mode: 'aa' })).status).toBe('failed')
  })

  test('only what the trainer calls work counts', () => {
    expect(equalWork({ baseline: both(work(ALL)), optimized: both(work(ALL, true)) })).toMatchObject({
      status: 'passed',
      detail: expect.stringMatching(/read back as equal: inverse_terms$/),
    })
    expect(equalWork(LESS, anExperiment(), [])).toMatchObject({
      status: 'passed',
      detail: expect.stringMatching(/not read back$/),
    })
  })

  test('one that reads back nothing is another', () => {
    const missing = { baseline: both(work(ALL)), optimized: both({ fused: true }) }
    expect(equalWork(missing)).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/not read back \(optimized\)/),
    })
  })

  test('of a recipe it may differ', () => {
    expect(equalWork(LESS, anExperiment({ kind: 'recipe' })).status).toBe('passed')
  })

  test('two revisions are compared by what both read back', () => {
    expect(equalWork(LESS, revisions('regression'))).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/^read-back values of inverse_terms differ: .*revisions/),
    })
    const isNew = { baseline: both({ fused: false }), optimized: both(work(ALL)) }
    expect(equalWork(isNew, revisions('regression')).status).toBe('passed')
    expect(equalWork(isNew, revisions('same-work')).status).toBe('passed')
  })
})

describe('within a variant', () => {
  test.each(['same-work', 'recipe', 'regression'] as const)('it is the same in every run, %s', (kind) => {
    const changing: [Effective, Effective] = [work(ALL), work(QUARTER)]
    const check = equalWork({ baseline: both(work(ALL)), optimized: changing }, anExperiment({ kind }))
    expect(check).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/inverse_terms differ: .*block-2-optimized.*launch to launch$/),
    })
  })
})
