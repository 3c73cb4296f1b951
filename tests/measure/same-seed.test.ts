// Training losses of two runs with one seed, side by side.
import { expect, test } from 'vitest'
import { compareSameSeed } from '../../src/measure/same-seed.ts'
import { aFinishedRun } from '../fixtures/builders.ts'

async function withLosses(trainLoss: number[]) {
  const { metrics } = await aFinishedRun({}, { stepSeconds: Array<number>(4).fill(0.1) })
  return { ...metrics, steps: { ...metrics.steps, trainLoss } }
}

test('the first step that is not the same to the last bit, and the largest difference, are found', async () => {
  const found = compareSameSeed(
    await withLosses([0.5, 0.25, 0.5, 0.75]),
    await withLosses([0.5, 0.25, 0.25, 0.625]),
  )
  expect(found).toEqual({ steps: 4, firstDivergentStep: 3, largestDifference: 0.25, largestAtStep: 3 })
})

test('equal losses never diverge', async () => {
  const run = await withLosses([0.5, 0.25, 0.125, 0.1])
  expect(compareSameSeed(run, run)).toMatchObject({ firstDivergentStep: null, largestDifference: 0 })
})

test('runs of which one did not report every loss are not compared', async () => {
  const whole = await withLosses([0.5, 0.25, 0.125, 0.1])
  expect(compareSameSeed(whole, await withLosses([0.5]))).toBeNull()
  expect(compareSameSeed(await withLosses([]), whole)).toBeNull()
})

test('a difference past what a double holds is not reported', async () => {
  const [low, high] = [await withLosses([-1e308, 0, 0, 0]), await withLosses([1e308, 0, 0, 0])]
  expect(compareSameSeed(low, high)).toBeNull()
})
