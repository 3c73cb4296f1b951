// What a training prints is read by patterns; one that stops matching is an error, and never yields an older number.
import { describe, expect, test } from 'vitest'
import { problemAs, problemsAs, readAs, theReader } from '../../fixtures/sources.ts'

/** Of a loop in nanoGPT's manner: `iter` counts from 0, and its `step N` is after N updates. */
const SECTION = {
  format: 'log',
  patterns: {
    step: 'iter (?<step>\\d+): loss (?<train_loss>\\S+), time (?<step_seconds>\\S+)ms',
    evaluation: 'step (?P<step>\\d+): train loss (?P<seen_loss>\\S+), val loss (?P<val_loss>\\S+)',
    checkpoint: '^saving checkpoint',
  },
  units: { step_seconds: 'ms' },
  first_step: 0,
  samples_per_step: 8,
}
const LINES = [
  'number of parameters: 10.65M',
  'step 0: train loss 4.2874, val loss 4.2823',
  'iter 0: loss 4.2654, time 3000.00ms, mfu -100.00%',
  'iter 1: loss 4.1, time 25.00ms, mfu 1.00%',
  'step 2: train loss 4, val loss 4.0625',
  'saving checkpoint to out',
  'iter 2: loss 4, time 900.00ms, mfu 1.00%',
  'iter 3: loss 3.9, time 25.00ms, mfu 1.00%',
  'step 4: train loss 3.8, val loss 3.875',
]

describe('a log', () => {
  test('gives steps and evaluations, and marks the steps that contain more', async () => {
    const { problem, steps, evaluations, facts } = await readAs(SECTION, LINES)
    expect(problem).toBeNull()
    expect(steps.seconds).toEqual([3, 0.025, 0.9, 0.025])
    expect(steps.held.map(({ index }) => index)).toEqual([0, 2])
    expect(evaluations).toMatchObject([
      { step: 0, samples_seen: 0, val_loss: 4.2823, metrics: { seen_loss: 4.2874 } },
      { step: 2, samples_seen: 16, val_loss: 4.0625 },
      { step: 4, samples_seen: 32, val_loss: 3.875 },
    ])
    expect(facts).toMatchObject({ step_seconds: 'read', samples: 'declared', held_out_loss: 'read' })
  })

  test('may be in colour, and drawn over by a progress bar', async () => {
    const coloured = LINES.map(
      (line) => `\r 50%|#####| 2/4\r\u001b[32m${line.replace(/(\d)/g, '\u001b[1m$1\u001b[0m')}\u001b[0m`,
    )
    const section = { ...SECTION, patterns: { ...SECTION.patterns, checkpoint: 'saving checkpoint' } }
    const { problem, evaluations } = await readAs(section, coloured)
    expect([problem, evaluations.at(-1)?.val_loss]).toEqual([null, 3.875])
  })

  test('without seconds has no step seconds', async () => {
    const patterns = { ...SECTION.patterns, step: 'iter (?<step>\\d+):' }
    const every = LINES.filter((line) => !/^iter [12]/.test(line))
    const { problem, facts, steps, end } = await readAs({ ...SECTION, patterns }, every)
    expect([problem, facts.step_seconds, steps.seconds, end?.attempted_updates]).toEqual([
      null,
      'unknown',
      [],
      4,
    ])
  })

  test('is read in bounded memory: of a long line the start counts', async () => {
    const long = `${LINES[1]} ${'x'.repeat(5_000_000)}step 9: train loss 1, val loss 1`
    const { problem, evaluations } = await readAs(SECTION, LINES.with(1, long))
    expect([problem, evaluations.length]).toEqual([null, 3])
  })
})

describe('a pattern', () => {
  test('that matches nothing is an error, and all of them are told at once', async () => {
    const patterns = {
      ...SECTION.patterns,
      step: 'it (?<step>\\d+) (?<step_seconds>\\S+)',
      evaluation: 'eval (?<step>\\d+) (?<val_loss>\\S+)',
    }
    const problems = await problemsAs({ ...SECTION, patterns }, LINES)
    expect(problems).toEqual([
      expect.stringMatching(/log\.txt: no line matches metrics\.patterns\.step: it /),
      expect.stringMatching(/log\.txt: no line matches metrics\.patterns\.evaluation: eval /),
    ])
    const unused = { ...SECTION.patterns, checkpoint: 'ckpt' }
    expect(await problemAs({ ...SECTION, patterns: unused }, LINES)).toMatch(/patterns\.checkpoint: ckpt/)
  })

  test('that stops matching is an error, not an older number', async () => {
    const later = LINES.map((line, index) => (index > 4 ? line.replace('iter ', 'iteration ') : line))
    expect(await problemAs(SECTION, later)).toMatch(/line 9: is an evaluation after 4 steps, but only 2 /)
    const gone = LINES.toSpliced(6, 1)
    expect(await problemAs(SECTION, gone)).toMatch(/line 7: is step 4, expected 3: .*logging interval of 1/)
  })

  test('whose number is none is an error', async () => {
    expect(await problemAs(SECTION, LINES.with(8, 'step 4: train loss nan, val loss nan'))).toMatch(
      /^not-finite: log\.txt line 9: val_loss: got "nan".*diverged/,
    )
    expect(await problemAs(SECTION, LINES.with(8, 'step 4: train loss 1, val loss 1,5'))).toMatch(
      /^malformed: log\.txt line 9: val_loss: got "1,5"/,
    )
  })

  test('of a second run in the same log is told', async () => {
    expect(await problemAs(SECTION, [...LINES, ...LINES])).toMatch(/^out-of-order: log\.txt line 11/)
  })
})

test('a log of the training itself lies in its folder, and what it prints beside it', () => {
  expect(theReader(SECTION)).toMatchObject({ liveFile: 'log.txt', collected: { pattern: 'log.txt' } })
  expect(theReader({ ...SECTION, file: 'train.log' })).toMatchObject({ liveFile: 'trainer/train.log' })
  expect(theReader(SECTION).liveEvent(LINES[3] ?? '')).toMatchObject({ first_step: 2, step_seconds: [0.025] })
})

describe('the live view', () => {
  const live = (line: string) => theReader(SECTION).liveEvent(line)

  test('reads a progress bar as its redraws, the newest first', () => {
    expect(live(`${LINES[2]}\r${LINES[3]}\r`)).toMatchObject({ first_step: 2 })
    const anchored = { ...SECTION, patterns: { ...SECTION.patterns, step: `^${SECTION.patterns.step}` } }
    expect(theReader(anchored).liveEvent(`50%|##  |\r${LINES[3]}`)).toMatchObject({ first_step: 2 })
  })

  test('tries no pattern on more of a long line than the reader does', () => {
    expect(live(`${'x'.repeat(5000)}${LINES[3]}`)).toBeNull()
    expect(live(`${LINES[3]} ${'x'.repeat(5000)}`)).toMatchObject({ first_step: 2 })
  })
})
