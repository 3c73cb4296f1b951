// What is still to come takes as long as what is done, variant by variant.
import { expect, test } from 'vitest'
import { estimateSeconds, meanWallSeconds } from '../../src/plan/estimate.ts'
import { aPlannedRun } from '../fixtures/builders.ts'

const warmUp = { purpose: 'warm-up', block: null } as const

test('measured launches count, warm-up launches, which may be slower or short, do not', () => {
  const finished = new Map([
    [aPlannedRun({ ...warmUp, variant: 'baseline' }), 90],
    [aPlannedRun({ ...warmUp, variant: 'optimized' }), 50],
    [aPlannedRun({ variant: 'baseline', block: 1 }), 60],
    [aPlannedRun({ variant: 'baseline', block: 2 }), 70],
  ])
  expect(meanWallSeconds(finished)).toEqual({ baseline: 65 })
})

test('the estimate is the sum over the remaining runs', () => {
  const remaining = [
    aPlannedRun({ variant: 'baseline' }),
    aPlannedRun({ variant: 'optimized' }),
    aPlannedRun({ variant: 'optimized' }),
  ]
  expect(estimateSeconds(remaining, { baseline: 60, optimized: 20 })).toBe(100)
})

test('there is no estimate while one variant is unknown', () => {
  const remaining = [aPlannedRun({ variant: 'optimized' })]
  expect(estimateSeconds(remaining, { baseline: 60 })).toBeNull()
  expect(estimateSeconds([aPlannedRun({ variant: 'baseline' })], { baseline: 60 })).toBe(60)
  expect(meanWallSeconds(new Map())).toEqual({})
})

test('nothing left takes no time', () => {
  expect(estimateSeconds([], {})).toBe(0)
})
