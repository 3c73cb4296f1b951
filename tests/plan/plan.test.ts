// Runs are planned in balanced order, with one seed per block.
import { describe, expect, test } from 'vitest'
import { planRuns, runTitle } from '../../src/plan/plan.ts'
import { anExperiment } from '../fixtures/builders.ts'

const planOf = (design: { blocks: number; warm_up_launches: number; seed: number }) =>
  planRuns(anExperiment({ design }))

describe('a plan', () => {
  test('flips the order from block to block, after the warm-up launches', () => {
    const plan = planOf({ blocks: 4, warm_up_launches: 1, seed: 100 })
    expect(plan.map(({ id, seed }) => `${id} ${seed}`)).toMatchInlineSnapshot(`
      [
        "01-warm-up-baseline 100",
        "02-warm-up-optimized 100",
        "03-block-1-baseline 101",
        "04-block-1-optimized 101",
        "05-block-2-optimized 102",
        "06-block-2-baseline 102",
        "07-block-3-baseline 103",
        "08-block-3-optimized 103",
        "09-block-4-optimized 104",
        "10-block-4-baseline 104",
      ]
    `)
    expect(plan.map(({ purpose }) => purpose)).toEqual([
      ...Array(2).fill('warm-up'),
      ...Array(8).fill('measured'),
    ])
  })

  test('gives both runs of a block the same seed, and no two blocks one seed', () => {
    const measured = planOf({ blocks: 64, warm_up_launches: 0, seed: 7 })
    for (let block = 1; block <= 64; block += 1) {
      const runs = measured.filter((run) => run.block === block)
      expect(runs.map(({ seed }) => seed)).toEqual([7 + block, 7 + block])
      expect(runs.map(({ variant }) => variant).toSorted()).toEqual(['baseline', 'optimized'])
    }
  })

  test('starts as often with the baseline as with the optimized variant', () => {
    const measured = planOf({ blocks: 8, warm_up_launches: 0, seed: 0 })
    const first = measured.filter((run, index) => run.purpose === 'measured' && index % 2 === 0)
    expect(first.filter(({ variant }) => variant === 'baseline')).toHaveLength(4)
  })

  test.each([1, 3, 8, 64])('of %d blocks has ids that sort in run order', (blocks) => {
    const ids = planOf({ blocks, warm_up_launches: 8, seed: 0 }).map(({ id }) => id)
    expect(ids.toSorted()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('needs no warm-up launch', () => {
    expect(planOf({ blocks: 1, warm_up_launches: 0, seed: 0 }).map(({ id }) => id)).toEqual([
      '01-block-1-baseline',
      '02-block-1-optimized',
    ])
  })
})

test('a run has a title that a person reads', () => {
  const plan = planOf({ blocks: 1, warm_up_launches: 1, seed: 0 })
  expect(plan.map(runTitle)).toEqual([
    'warm-up, baseline',
    'warm-up, optimized',
    'block 1, baseline',
    'block 1, optimized',
  ])
})
