import { expect, test } from 'vitest'
import { confidenceOf, lookAt, looksOf } from '../../src/plan/looks.ts'
import { planRuns } from '../../src/plan/plan.ts'
import { anExperiment } from '../fixtures/builders.ts'

const designed = (blocks: number | number[]) => anExperiment({ design: { blocks } })

test('a number of blocks is a single look at full confidence', () => {
  expect(looksOf(designed(4))).toEqual([4])
  expect(confidenceOf(lookAt(designed(4), 4))).toBe(0.95)
})

test('looks share the five percent of error between them', () => {
  expect(confidenceOf(lookAt(designed([4, 6, 8]), 6))).toBeCloseTo(1 - 0.05 / 3, 12)
})

test('blocks between two looks are judged by the next, and those past the last by it', () => {
  const looks = [4, 6, 8].map((blocks) => ({ blocks, pass_level: blocks / 1000, fail_level: blocks / 1000 }))
  const experiment = anExperiment({ design: { looks } })
  const judgedBy = [0, 4, 5, 6, 8, 9].map((blocks) => lookAt(experiment, blocks).blocks)
  expect(judgedBy).toEqual([4, 4, 6, 6, 8, 8])
})

test('a plan has the blocks up to the last look', () => {
  expect(planRuns(designed([4, 6, 8])).at(-1)).toMatchObject({ block: 8 })
})
