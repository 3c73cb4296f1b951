// The trend check by simulation: what disturbs the steps of all runs alike is told, and refused only if it decides a gate.
import { describe, expect, test } from 'vitest'
import { checkComparability } from '../../../src/judge/checks/all.ts'
import { anExperiment, aRunSummary } from '../../fixtures/builders.ts'
import { normal } from '../../fixtures/noise.ts'
import { SERIES, type Series, steadyStates } from './step-series.ts'

test('the trends that a smoke experiment had on two shared CPU cores are luck', () => {
  // Recorded: 4 blocks of configs/experiments/smoke.yaml while other jobs ran; single runs drift by up to 77%.
  const recorded = { baseline: [0.569, 0.506, 0.183, 0.271], optimized: [-0.057, 0.183, -0.057, -0.111] }
  const runs = (['baseline', 'optimized'] as const).flatMap((variant) =>
    recorded[variant].map((logTrend, index) => aRunSummary({ variant, block: index + 1, logTrend })),
  )
  const check = checkComparability({ experiment: anExperiment(), measured: runs }).find(
    ({ name }) => name === 'steady state',
  )
  expect(check?.status).toBe('passed')
})

const EXPERIMENTS = 100

describe.each(Object.entries(SERIES))('steps with %s', (_, series) => {
  test('make no experiment invalid whose verdict they leave alone', async () => {
    const { failed = 0 } = await steadyStates(series, EXPERIMENTS)
    expect(failed).toBe(0)
  })
})

test.each([
  ['independent steps', 0.02],
  ['bursts of a shared machine', 0.02],
  ['two modes, changed in one run of three', 0.02],
  ['heating: 3% slower at the end', 0.05],
])('%s are no trend in all but %d of experiments', async (name, most) => {
  const { passed = 0 } = await steadyStates(SERIES[name] as Series, EXPERIMENTS)
  expect(passed).toBeGreaterThanOrEqual(1 - most)
})

test('a slow first half of the baseline makes an experiment invalid, where the speedup comes from it alone', async () => {
  let isBaseline = false
  const slowAtFirst: Series = (random) => {
    isBaseline = !isBaseline
    const slow = isBaseline ? 1.5 : 1
    return Array.from(
      { length: 200 },
      (_, step) => Math.exp(0.001 * normal(random)) * (step < 120 ? slow : 1),
    )
  }
  // Both orders of a block are given baseline first.
  expect(await steadyStates(slowAtFirst, 5, 2.8)).toEqual({ failed: expect.closeTo(1, 9) })
  isBaseline = false
  expect(await steadyStates(slowAtFirst, 5, 6)).toEqual({ warned: expect.closeTo(1, 9) })
})
