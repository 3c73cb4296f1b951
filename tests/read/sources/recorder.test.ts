// The recorder writes the file of the contract; what it cannot see, the experiment may declare.
import { expect, test } from 'vitest'
import { metricsEvents } from '../../fixtures/builders.ts'
import { problemAs, readAs, theReader } from '../../fixtures/sources.ts'

const LINES = metricsEvents().map((event) => JSON.stringify(event))
/** As it is where the recorder sees no samples. */
const UNSEEN = metricsEvents().map((event) => {
  const { samples: _, samples_seen: __, ...rest } = event as { samples?: unknown; samples_seen?: unknown }
  return JSON.stringify(rest)
})

test('what it sees is reported', async () => {
  const { problem, facts, end } = await readAs({ format: 'recorder' }, LINES)
  expect([problem, facts.samples, end?.samples]).toEqual([null, 'reported', 640])
})

test('samples that it does not see are those declared', async () => {
  const { problem, facts, steps, end, evaluations } = await readAs(
    { format: 'recorder', samples_per_step: 32 },
    UNSEEN,
  )
  expect([problem, facts.samples, steps.samples[39]]).toEqual([null, 'declared', 32])
  expect([end?.samples, evaluations[0]?.samples_seen]).toEqual([1280, 1280])
})

test('samples that it sees are held against those declared', async () => {
  expect(await problemAs({ format: 'recorder', samples_per_step: 16 }, LINES)).toBeNull()
  expect(await problemAs({ format: 'recorder', samples_per_step: 32 }, LINES)).toMatch(
    /^malformed: metrics\.jsonl line 2: samples has 16, but metrics\.samples_per_step is 32/,
  )
})

test('a launch is told where to record', () => {
  expect(theReader({ format: 'recorder' }).environment?.('/runs/01')).toEqual({
    SPEEDPROOF_RECORD: '/runs/01/trainer',
  })
  expect(theReader({ format: 'speedproof' }).environment).toBeUndefined()
})
