// Steps that hold an evaluation or a checkpoint are not timed, if both variants have them at the same places.
import { expect, test } from 'vitest'
import { type FinishedRun, summarizeRuns } from '../../src/measure/summary.ts'
import type { Held } from '../../src/read/events.ts'
import { aFinishedRun, type MetricsDifference } from '../fixtures/builders.ts'

const SLOW = 2
const FAST = 0.1

/** Steps of 0.1 s, and of 2 s where they hold an evaluation. */
async function aRun(
  variant: 'baseline' | 'optimized',
  holds: Readonly<Record<number, Held>> | undefined,
  difference: MetricsDifference = {},
): Promise<FinishedRun> {
  const stepSeconds = Array.from({ length: 60 }, (_, index) => (holds?.[index + 1] ? SLOW : FAST))
  return await aFinishedRun(
    { id: `block-1-${variant}`, variant },
    { stepSeconds, ...(holds === undefined ? {} : { holds }), ...difference },
  )
}

const EVERY_TENTH: Record<number, Held> = Object.fromEntries(
  [10, 20, 30, 40, 50, 60].map((step) => [step, 'evaluation' as const]),
)

test('they are left out in both variants', async () => {
  const runs = summarizeRuns([await aRun('baseline', EVERY_TENTH), await aRun('optimized', EVERY_TENTH)])
  for (const { metrics, leftOutSteps, stepsInclude, medianStepSeconds } of runs) {
    expect(metrics.seconds_per_sample).toBeCloseTo(FAST / 16, 12)
    expect(medianStepSeconds).toBeCloseTo(FAST, 12)
    expect(stepsInclude).toEqual([])
    // The first lies in the warm-up of 10 steps.
    expect(leftOutSteps).toBe(5)
  }
})

test('a run that has them elsewhere leaves none out, and neither do the others', async () => {
  const more = { ...EVERY_TENTH, 35: 'evaluation' as const }
  const runs = summarizeRuns([await aRun('baseline', EVERY_TENTH), await aRun('optimized', more)])
  for (const { metrics, leftOutSteps, stepsInclude } of runs) {
    expect(metrics.seconds_per_sample).toBeGreaterThan(2 * (FAST / 16))
    expect([leftOutSteps, stepsInclude]).toEqual([0, ['evaluation']])
  }
})

test('a variant that does not say which they are is timed with them, and so is the other', async () => {
  const silent = { start: { steps_include: ['evaluation' as const] } }
  const [baseline, optimized] = summarizeRuns([
    await aRun('baseline', EVERY_TENTH),
    await aRun('optimized', undefined, silent),
  ])
  expect([baseline?.stepsInclude, optimized?.stepsInclude]).toEqual([['evaluation'], ['evaluation']])
  expect(baseline?.leftOutSteps).toBe(0)
})

test('places are those in samples, so that steps of other size may have them too', async () => {
  const doubled = Array.from({ length: 30 }, () => 0.2)
  const [small, large] = summarizeRuns([
    await aRun('baseline', { 20: 'checkpoint', 40: 'evaluation' }),
    await aFinishedRun(
      { id: 'block-1-optimized', variant: 'optimized' },
      { stepSeconds: doubled, samplesPerStep: 32, holds: { 11: 'checkpoint', 21: 'evaluation' } },
    ),
  ])
  // After 19 steps of 16, and 10 of 32: not the same samples.
  expect([small?.stepsInclude, large?.stepsInclude]).toEqual([
    ['checkpoint', 'evaluation'],
    ['checkpoint', 'evaluation'],
  ])
})

test('a whole period goes where one of its steps does', async () => {
  const start = { period_steps: 4 }
  const runs = await Promise.all(
    (['baseline', 'optimized'] as const).map((variant) => aRun(variant, { 33: 'evaluation' }, { start })),
  )
  expect(summarizeRuns(runs).map(({ leftOutSteps, timedPeriods }) => [leftOutSteps, timedPeriods])).toEqual([
    [4, 11],
    [4, 11],
  ])
})

test('they make neither a trend nor a longer warm-up', async () => {
  const late: Record<number, Held> = { 55: 'evaluation', 57: 'evaluation', 59: 'evaluation' }
  const runs = summarizeRuns([await aRun('baseline', late), await aRun('optimized', late)])
  for (const { logTrend, warmUpSteps } of runs) {
    expect(logTrend).toBeCloseTo(0, 9)
    expect(warmUpSteps).toBe(10)
  }
})
