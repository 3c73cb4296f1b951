import { expect, test } from 'vitest'
import { confidenceOf, lookAt, looksOf, mayPassAt } from '../../src/plan/looks.ts'
import { planRuns } from '../../src/plan/plan.ts'
import { anExperiment } from '../fixtures/builders.ts'

const designed = (blocks: number | number[]) => anExperiment({ design: { blocks } })

test('a number of blocks is a single look at full confidence', () => {
  expect(looksOf(designed(4))).toEqual([4])
  expect(confidenceOf(lookAt(designed(4), 4))).toEqual({ pass: 0.95, fail: 0.95 })
})

test('looks share the five percent of error between them', () => {
  const passes = [4, 6, 8].map((blocks) => 1 - confidenceOf(lookAt(designed([2, 4, 6, 8]), blocks)).pass)
  expect(passes.reduce((sum, level) => sum + level, 0)).toBeCloseTo(0.05, 4)
  expect(mayPassAt(lookAt(designed([2, 4, 6, 8]), 2))).toBe(false)
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
