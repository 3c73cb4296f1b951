// Code that changes while an experiment runs makes its runs those of several trainings.
import { describe, expect, test } from 'vitest'
import type { Experiment } from '../../../src/config/experiment.ts'
import { checkCode } from '../../../src/judge/checks/same-code.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import { anExperiment, aRunSummary } from '../../fixtures/builders.ts'

const codeOf = (experiment: Experiment, measured: readonly RunSummary[]) =>
  checkCode({ experiment, measured })

const [ONE, OTHER] = ['1'.repeat(64), '2'.repeat(64)]
const experiment = anExperiment()
const regression = anExperiment({
  variants: {
    baseline: { ...experiment.variants.baseline, revision: 'merge-base' },
    optimized: experiment.variants.optimized,
  },
})
const runs = (...hashes: [before: string, after: string][]) =>
  hashes.map(([before, after], index) =>
    aRunSummary({
      block: Math.floor(index / 2) + 1,
      variant: index % 2 === 0 ? 'baseline' : 'optimized',
      code: { before, after },
    }),
  )

test('the same before and after every run passes', () => {
  expect(codeOf(experiment, runs([ONE, ONE], [ONE, ONE]))).toMatchObject({ status: 'passed' })
})

describe('a change', () => {
  test('between two runs is told with both', () => {
    expect(codeOf(experiment, runs([ONE, ONE], [OTHER, OTHER]))).toMatchInlineSnapshot(`
      {
        "detail": "the trainer's sources changed between after block-1-baseline and before block-1-optimized (SHA-256 111111111111, then 222222222222). Measure again without changing them, or name a revision for each variant",
        "name": "same code",
        "status": "failed",
      }
    `)
  })

  test('during a run is told too, also if it is the only one', () => {
    expect(codeOf(experiment, runs([ONE, OTHER])).detail).toContain(
      'between before block-1-baseline and after block-1-baseline',
    )
  })

  test('during a run names what changed, which the trainer itself may have written', () => {
    const changed = ['mine/made.py', 'mine/cli.py']
    const run = aRunSummary({ code: { before: ONE, after: OTHER, changed } })
    const { detail } = codeOf(experiment, [run])
    expect(detail).toContain('(mine/made.py, mine/cli.py, SHA-256 111111111111, then 222222222222)')
    expect(detail).toContain('or keep what the trainer writes out of its folder,')
  })

  test('from one revision to the other is none, but one within a revision is', () => {
    expect(codeOf(regression, runs([ONE, ONE], [OTHER, OTHER])).status).toBe('passed')
    expect(codeOf(regression, runs([ONE, ONE], [OTHER, OTHER], [OTHER, OTHER])).status).toBe('failed')
  })
})

test('code that nobody looked at stops nothing', () => {
  expect(codeOf(experiment, [aRunSummary({ code: null })]).status).toBe('not-measured')
})
