// Waits that come and go, taken out of a run.
import { expect, test } from 'vitest'
import { windowSamplesOf, withoutSlowWindows } from '../../../src/measure/metrics/fastest-steps.ts'
import type { CompleteMetrics } from '../../../src/read/metrics-record.ts'
import { aFinishedRun } from '../../fixtures/builders.ts'

/** Steps of these seconds, with these samples each (16 unless named). */
async function runOf(
  seconds: readonly number[],
  { samples = seconds.map(() => 16), period = 1 }: { samples?: readonly number[]; period?: number } = {},
) {
  const { metrics } = await aFinishedRun()
  return {
    ...metrics,
    start: { ...metrics.start, period_steps: period },
    steps: { ...metrics.steps, seconds: [...seconds], samples: [...samples] },
  }
}
const repeated = (count: number, ...values: number[]) => Array.from({ length: count }, () => values).flat()
const secondsOf = (run: CompleteMetrics | null) => run?.steps.seconds

test('no timed step takes longer than the tenth percentile of all, and faster ones stay', async () => {
  const seconds = [5, 0.9, 1, ...repeated(18, 2), 9]
  // The second of twenty; before and behind the timed steps nothing changes.
  expect(secondsOf(withoutSlowWindows(await runOf(seconds), [1, 21], 16))).toEqual([
    5,
    0.9,
    1,
    ...repeated(18, 1),
    9,
  ])
})

test('small steps are held against each other over as many samples as large ones', async () => {
  // Each window of two has one wait; alone, every step without one would be among the fastest.
  const small = await runOf(repeated(20, 1, 3))
  expect(secondsOf(withoutSlowWindows(small, [0, 40], 32))).toEqual(repeated(20, 1, 3))
  const waits = await runOf([...repeated(10, 1, 1), ...repeated(10, 1, 3)])
  expect(secondsOf(withoutSlowWindows(waits, [0, 40], 32))).toEqual([
    ...repeated(10, 1, 1),
    ...repeated(10, 0.5, 1.5),
  ])
})

test('a window has a whole period of every run, and their largest step', async () => {
  const every = [await runOf([1, 1, 1], { samples: [8, 8, 24] }), await runOf([1], { period: 4 })]
  expect(windowSamplesOf(every)).toBe(64)
  expect(windowSamplesOf(every.slice(0, 1))).toBe(24)

  const everyFourth = [...repeated(10, 1, 1, 1, 4), ...repeated(10, 2, 2, 2, 8)]
  const shortened = withoutSlowWindows(await runOf(everyFourth, { period: 4 }), [0, 80], 64)
  expect(secondsOf(shortened)).toEqual(repeated(20, 1, 1, 1, 4))
})

test('steps that a growing batch makes longer are held against their like', async () => {
  const growing = [...repeated(10, 1, 1.5), ...repeated(10, 2, 3)]
  const samples = [...repeated(20, 16), ...repeated(20, 32)]
  // Windows of 32 samples: ten of two steps, then twenty of one.
  expect(secondsOf(withoutSlowWindows(await runOf(growing, { samples }), [0, 40], 32))).toEqual([
    ...repeated(10, 1, 1.5),
    ...repeated(20, 2),
  ])
})

test('of batches of any size it is the time per sample', async () => {
  const samples = Array.from({ length: 40 }, (_, step) => 100 + step)
  const seconds = samples.map((count, step) => count * (step % 2 === 0 ? 1 : 2))
  // Windows of at least 139 samples: two steps each, of which one waits.
  expect(secondsOf(withoutSlowWindows(await runOf(seconds, { samples }), [0, 40], 139))?.[39]).toBeCloseTo(
    139 * 2,
    0,
  )
  const one = secondsOf(withoutSlowWindows(await runOf(seconds, { samples }), [0, 40], 1))
  expect(one).toEqual(samples)
})

test('fewer than ten windows alike say nothing', async () => {
  expect(withoutSlowWindows(await runOf(repeated(10, 1)), [0, 10], 16)).not.toBeNull()
  expect(withoutSlowWindows(await runOf(repeated(9, 1)), [0, 9], 16)).toBeNull()
  expect(withoutSlowWindows(await runOf(repeated(19, 1)), [0, 19], 32)).toBeNull()
  expect(withoutSlowWindows(await runOf([1]), [1, 1], 16)).toBeNull()
})
