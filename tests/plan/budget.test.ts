import { expect, test } from 'vitest'
import { fitsBudget, followsLook } from '../../src/plan/budget.ts'
import { planRuns } from '../../src/plan/plan.ts'
import { anExperiment } from '../fixtures/builders.ts'

function designed(blocks: number | number[], gpuMinutes?: number) {
  return anExperiment({
    design: { blocks, ...(gpuMinutes === undefined ? {} : { gpu_minutes: gpuMinutes }) },
  })
}

test('only the first run after a look may be left out', () => {
  const experiment = designed([1, 3])
  const plan = planRuns(experiment)
  const after = plan.filter((_, index) => followsLook(experiment, plan, index))
  expect(after.map(({ block }) => block)).toEqual([2])
})

test('a look that would cost more than the budget is not begun', () => {
  const plan = planRuns(designed([1, 2, 4]))
  const index = plan.findIndex(({ block }) => block === 2)
  const finished = new Map(plan.slice(0, index).map((run) => [run, 60]))
  // Four launches of a minute on two processes are done, two more are wanted: 12 GPU minutes.
  expect(fitsBudget(designed([1, 2, 4], 12), plan, index, finished)).toBe(true)
  expect(fitsBudget(designed([1, 2, 4], 11.9), plan, index, finished)).toBe(false)
  expect(fitsBudget(designed([1, 2, 4]), plan, index, finished)).toBe(true)
  const onTwoNodes = (minutes: number) => {
    const experiment = designed([1, 2, 4], minutes)
    return { ...experiment, launch: { ...experiment.launch, nodes: 2 } }
  }
  expect(fitsBudget(onTwoNodes(24), plan, index, finished)).toBe(true)
  expect(fitsBudget(onTwoNodes(23.9), plan, index, finished)).toBe(false)
})
