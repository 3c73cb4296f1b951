// The deterministic prefix and the same-seed trajectory, as a reader sees them.
import { expect, test } from 'vitest'
import type { SameSeed } from '../../src/measure/same-seed.ts'
import { secondaryEvidence } from '../../src/report/secondary-evidence.ts'
import { aResult, aRunSummary } from '../fixtures/builders.ts'

async function lineOf(...pairs: SameSeed[]): Promise<string | undefined> {
  const runs = pairs.map((sameSeed) => aRunSummary({ variant: 'optimized', sameSeed }))
  return secondaryEvidence({ ...(await aResult()), runs }).find((line) => line.startsWith('Same seed'))
}

const apart: SameSeed = { steps: 40, firstDivergentStep: 13, largestDifference: 0.25, largestAtStep: 31 }

test('the block that parts first, and the one that parts most, are told', async () => {
  const later = { ...apart, firstDivergentStep: 20, largestDifference: 0.5, largestAtStep: 40 }
  expect(await lineOf(apart, later)).toMatchInlineSnapshot(
    `"Same seed: the training losses of both variants agree to the last bit up to step 12 of 40; the largest difference is 0.50, in step 40."`,
  )
})

test('runs that part at once, or never, are told as such', async () => {
  expect(await lineOf({ ...apart, firstDivergentStep: 1 })).toContain('differ from the first of 40 steps on')
  const same = { ...apart, firstDivergentStep: null, largestDifference: 0 }
  expect(await lineOf(same)).toContain('agree to the last bit in all 40 steps')
})

test('nothing is told of trainers that report no training loss', async () => {
  expect(await lineOf()).toBeUndefined()
})
