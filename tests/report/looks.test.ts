// A reader sees when the evidence was looked at, before and after.
import { expect, test } from 'vitest'
import { looksPlanned, looksTaken } from '../../src/report/looks.ts'
import { anExperiment, aResult } from '../fixtures/builders.ts'

const lookingAfter = (blocks: number | number[], more: object = {}) =>
  anExperiment({ design: { blocks, warm_up_launches: 0, seed: 0, ...more } })

test('a plan says after how many blocks, at which confidence, and within which budget', () => {
  expect(looksPlanned(lookingAfter(4))).toMatchInlineSnapshot(`"Looks: after 4 blocks; each bound at 95%."`)
  expect(looksPlanned(lookingAfter([4, 6, 8], { gpu_minutes: 90 }))).toMatchInlineSnapshot(
    `"Looks: after 4, 6, 8 blocks; each bound at 98.3%, so that all 3 looks together err in at most 5%. No look is begun that would take more than 90 GPU minutes in all."`,
  )
})

test('a report says which looks were taken, if there was more than one to take', async () => {
  expect(looksTaken(await aResult(lookingAfter([2, 4, 6])))).toMatchInlineSnapshot(`
    [
      "Looks: 3 of 3 were taken, the last after 6 blocks; each bound is at 98.3%, so that all looks together err in at most 5%.",
    ]
  `)
  const { runs, ...result } = await aResult(lookingAfter([2, 4, 6]))
  const early = runs.filter(({ block }) => (block ?? 0) <= 3)
  expect(looksTaken({ ...result, runs: early })[0]).toContain('Looks: 1 of 3 were taken, the last after 2')
  expect(looksTaken(await aResult(lookingAfter(4)))).toEqual([])
})
