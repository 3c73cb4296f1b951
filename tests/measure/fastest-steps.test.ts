// Steps that wait now and then, taken out.
import { expect, test } from 'vitest'
import { withoutSlowSteps } from '../../src/measure/fastest-steps.ts'
import { aFinishedRun } from '../fixtures/builders.ts'

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

test('no timed step takes longer than the tenth percentile of all, and faster ones stay', async () => {
  const seconds = [5, 0.9, 1, ...repeated(18, 2), 9]
  const { steps } = withoutSlowSteps(await runOf(seconds), [1, 21])
  // The second of twenty; before and behind the timed steps nothing changes.
  expect(steps.seconds).toEqual([5, 0.9, 1, ...repeated(18, 1), 9])
})

test('steps that do more work by design are held against their like', async () => {
  const growing = [...repeated(10, 1, 1.5), ...repeated(10, 2, 3)]
  const samples = [...repeated(20, 16), ...repeated(20, 32)]
  const { steps } = withoutSlowSteps(await runOf(growing, { samples }), [0, 40])
  expect(steps.seconds).toEqual([...repeated(20, 1), ...repeated(20, 2)])

  const everyFourth = [...repeated(10, 1, 1, 1, 4), ...repeated(10, 1.2, 1.2, 1.2, 5)]
  const shortened = withoutSlowSteps(await runOf(everyFourth, { period: 4 }), [0, 80])
  expect(shortened.steps.seconds).toEqual(repeated(20, 1, 1, 1, 4))
})

test('of fewer than ten alike it is the fastest, and of none nothing', async () => {
  const { steps } = withoutSlowSteps(await runOf([3, 1, 2]), [0, 3])
  expect(steps.seconds).toEqual([1, 1, 1])
  expect(withoutSlowSteps(await runOf([3, 1, 2]), [3, 3]).steps.seconds).toEqual([3, 1, 2])
})
