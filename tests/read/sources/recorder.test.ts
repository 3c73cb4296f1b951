// The recorder writes the file of the contract; what it cannot see, the experiment may declare.
import { describe, expect, test } from 'vitest'
import { piecesOf } from '../../../src/read/lines.ts'
import { readMetrics } from '../../../src/read/read-metrics.ts'
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

describe('evaluations that only the log shows', () => {
  const WITHOUT = metricsEvents()
    .filter(({ event }) => event !== 'evaluation')
    .map((event) =>
      JSON.stringify(
        event.event === 'run_start' ? { ...event, steps_include: ['evaluation', 'checkpoint'] } : event,
      ),
    )
  const evaluation = 'step (?<step>\\d+): val loss (?<val_loss>\\S+), accuracy (?<accuracy>\\S+)'
  const section = { format: 'recorder', patterns: { evaluation } }
  const log = (...lines: string[]) => ['starting', ...lines, 'done']
  const both = (printed: readonly string[], lines = WITHOUT) =>
    readMetrics(theReader(section), (file) => piecesOf(file.endsWith('metrics.jsonl') ? lines : printed))
  const messageOf = async (...args: Parameters<typeof both>) => (await both(...args)).problem?.message

  test('are read from it, and lie in the step that follows', async () => {
    const printed = log(
      'step 20: val loss 0.75, accuracy 0.5',
      '\u001b[1mstep 40: val loss 0.5, accuracy 0.9',
    )
    const { problem, facts, start, steps, evaluations } = await both(printed)
    expect(problem).toBeNull()
    expect(facts.held_out_loss).toBe('read')
    expect(start?.steps_include).toEqual(['checkpoint'])
    expect(steps.held).toEqual([{ index: 20, what: 'evaluation' }])
    expect(evaluations).toMatchObject([
      { step: 20, samples_seen: 320, val_loss: 0.75, metrics: { accuracy: 0.5 } },
      { step: 40, samples_seen: 640, val_loss: 0.5, metrics: { accuracy: 0.9 } },
    ])
  })

  test('fail loudly where the pattern matches no line', async () => {
    expect(await messageOf(log('step 40: loss 0.5'))).toContain('no line matches metrics.patterns.evaluation')
  })

  test('lie within the steps', async () => {
    expect(await messageOf(log('step 41: val loss 0.5, accuracy 1'))).toContain('log.txt line 2')
  })

  test('are not taken beside those that the recorder saw', async () => {
    expect(await messageOf(log('step 40: val loss 0.5, accuracy 1'), LINES)).toContain('metrics.patterns')
  })

  test('have a number for their loss', async () => {
    expect(await messageOf(log('step 40: val loss none, accuracy 1'))).toContain('"none"')
  })
})

test('a launch is told where to record', () => {
  expect(theReader({ format: 'recorder' }).environment?.('/runs/01')).toEqual({
    SPEEDPROOF_RECORD: '/runs/01/trainer',
  })
  expect(theReader({ format: 'speedproof' }).environment).toBeUndefined()
})
