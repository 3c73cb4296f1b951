// A reader sees when the evidence was looked at, before and after.
import { expect, test } from 'vitest'
import { looksPlanned, looksTaken } from '../../src/report/looks.ts'
import { anExperiment, aResult } from '../fixtures/builders.ts'

const lookingAfter = (blocks: number | number[], more: object = {}) =>
  anExperiment({ design: { blocks, warm_up_launches: 0, seed: 0, ...more } })

test('a plan says after how many blocks, at which confidence, and within which budget', () => {
  expect(looksPlanned(lookingAfter(4))).toMatchInlineSnapshot(`
    [
      "Looks, with the confidence of each bound",
      "| after blocks | to pass | to fail |
    | ------------ | ------- | ------- |
    | 4            | 95%     | 95%     |",
    ]
  `)
  expect(looksPlanned(lookingAfter([4, 6, 8], { gpu_minutes: 90 }))).toMatchInlineSnapshot(
    `
    [
      "Looks, with the confidence of each bound",
      "| after blocks | to pass | to fail |
    | ------------ | ------- | ------- |
    | 4            | 98.6%   | 98.6%   |
    | 6            | 98.3%   | 97.8%   |
    | 8            | 98.1%   | 96.8%   |",
      "All 3 looks together pass wrongly in at most 5%, if blocks are independent.",
      "The experiment stops where the blocks left have less than a 10% chance to decide.",
      "No look is begun that would take more than 90 GPU minutes in all.",
    ]
  `,
  )
})

test('a report says which looks were taken, if there was more than one to take', async () => {
  expect(looksTaken(await aResult(lookingAfter([2, 4, 6])))).toMatchInlineSnapshot(`
    [
      "Looks: 3 of 3 were taken, the last after 6 blocks. Confidence of its bounds: to pass 97.3%, to fail 97.2%. All looks together pass wrongly in at most 5%, if blocks are independent.",
    ]
  `)
  const { runs, ...result } = await aResult(lookingAfter([2, 4, 6]))
  const until = (most: number) => runs.filter(({ block }) => (block ?? 0) <= most)
  const early = looksTaken({ ...result, runs: until(3) })
  expect(early[0]).toMatch(/^Looks: 1 of 3 were taken, the last after 2 .* it cannot pass/)
  const futile = looksTaken({ ...result, runs: until(4), notRun: 'futile' })
  expect(futile[1]).toContain('less than a 10% chance to decide')
  expect(looksTaken(await aResult(lookingAfter(4)))).toEqual([])
})
