// A training that our Python package cannot measure: its reason reaches the user.
import { describe, expect, test } from 'vitest'
import { checkMetrics } from '../../src/read/check-metrics.ts'
import { readMetrics } from '../../src/read/read-metrics.ts'
import { speedproof } from '../../src/read/sources/speedproof.ts'

const REASON = 'the optimizer step is captured in a CUDA graph. Use Recorder'
const START = { event: 'run_start', schema_version: 1, seed: 1, world_size: 1 }

async function* source(...events: object[]) {
  yield Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''))
}
const refused = (reason: unknown) => ({ event: 'run_end', status: 'not_measured', reason })

describe.each([
  ['before anything was recorded', []],
  ['after its start', [START]],
])('a refusal %s', (_, before) => {
  test('is the problem of the run, and no finished end', async () => {
    const { problem, end } = await readMetrics(speedproof, () => source(...before, refused(REASON)))
    expect(problem?.message).toContain(REASON)
    expect(end).toBeNull()
  })

  test('is named by a check of the file', async () => {
    const { problems } = await checkMetrics(speedproof, () => source(...before, refused(REASON)), 9)
    expect(problems[0]?.message).toContain(REASON)
  })
})

test.each([[undefined], [7], ['x'.repeat(100_000)]])(
  'a reason that is not one stays short',
  async (reason) => {
    const { problem } = await readMetrics(speedproof, () => source(refused(reason)))
    expect(problem?.message).toMatch(/could not measure this training/)
    expect(problem?.message.length).toBeLessThan(600)
  },
)
