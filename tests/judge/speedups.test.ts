// Three speedups and the length from which the set-up pays off.
import { describe, expect, test } from 'vitest'
import { compare } from '../../src/judge/compare.ts'
import type { RunSummary } from '../../src/measure/summary.ts'
import { aRunSummary } from '../fixtures/builders.ts'

/** 1000 samples in 100 steps: 10 ms and 2.5 ms per sample; the optimized run needs 30 s besides its steps, the baseline 15 s. */
const blocks = (optimized: Partial<RunSummary> = {}) =>
  [1, 2].flatMap((block) => [
    aRunSummary({ block, ...cost(0.01, 25) }),
    aRunSummary({ block, variant: 'optimized', ...cost(0.0025, 32.5), ...optimized }),
  ])
const cost = (seconds_per_sample: number, total_seconds: number) => ({
  samples: 1000,
  steps: 100,
  metrics: { seconds_per_sample, total_seconds },
})
const speedupsOf = (runs: RunSummary[]) => compare(runs, []).speedups

test('a fast step can still be a slow training', () => {
  const { steady, total, toQuality } = speedupsOf(blocks())
  expect(steady?.estimate).toBeCloseTo(4, 12)
  expect(total?.estimate).toBeCloseTo(25 / 32.5, 12)
  expect(toQuality).toBeNull()
})

describe('the set-up', () => {
  test('pays off where both take equally long', () => {
    // 15 s more once, 7.5 ms less for each of 10 samples a step: 15 / 0.075.
    expect(speedupsOf(blocks()).breakEven).toEqual({ status: 'after', steps: 200 })
  })

  test('pays off at once where there is no more of it', () => {
    expect(speedupsOf(blocks(cost(0.0025, 17.5))).breakEven).toEqual({ status: 'at-once' })
  })

  test('never pays off for slower steps', () => {
    expect(speedupsOf(blocks(cost(0.02, 40))).breakEven).toEqual({ status: 'never' })
  })

  test('that is shorter is used up by slower steps', () => {
    // 15 s less once, 10 ms more for each of 10 samples a step.
    expect(speedupsOf(blocks(cost(0.02, 20))).breakEven).toEqual({ status: 'until', steps: 150 })
  })

  test('is not weighed where a run was not timed', () => {
    expect(speedupsOf(blocks({ metrics: { total_seconds: 32.5 } })).breakEven).toEqual({
      status: 'not-measured',
    })
    const untimed = blocks().map((run) =>
      run.variant === 'baseline' ? { ...run, metrics: { total_seconds: 25 } } : run,
    )
    expect(speedupsOf(untimed).breakEven).toEqual({ status: 'not-measured' })
    expect(speedupsOf([]).breakEven).toEqual({ status: 'not-measured' })
  })
})
