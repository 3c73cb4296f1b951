import { expect, test } from 'vitest'
import { confidenceOf, looksOf } from '../../src/plan/looks.ts'
import { planRuns } from '../../src/plan/plan.ts'
import { anExperiment } from '../fixtures/builders.ts'

function designed(blocks: number | number[]) {
  const experiment = anExperiment()
  return { ...experiment, design: { ...experiment.design, blocks } }
}

test('a number of blocks is a single look at full confidence', () => {
  expect(looksOf(designed(4))).toEqual([4])
  expect(confidenceOf(designed(4))).toBe(0.95)
})

test('looks share the five percent of error between them', () => {
  expect(confidenceOf(designed([4, 6, 8]))).toBeCloseTo(1 - 0.05 / 3, 12)
})

test('a plan has the blocks up to the last look', () => {
  expect(planRuns(designed([4, 6, 8])).at(-1)).toMatchObject({ block: 8 })
})
