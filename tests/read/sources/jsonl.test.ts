// A trainer's own JSON lines become the events of the contract by a map of keys; what a line gets wrong is said with its place.
import { describe, expect, test } from 'vitest'
import { problemAs, readAs, theReader } from '../../fixtures/sources.ts'

const SECTION = {
  format: 'jsonl',
  file: 'logs/train.jsonl',
  keys: { step: 'iter', step_seconds: 'dt', train_loss: 'loss', val_loss: 'val/loss' },
  evaluation: { accuracy: 'val.accuracy' },
  units: { step_seconds: 'ms' },
  first_step: 0,
  evaluation_first_step: 1,
  samples_per_step: 512,
}

/** As a loop that evaluates after 2 and 4 steps writes it. */
const LINES = [
  '{"iter": 0, "loss": 3.5, "dt": 900.5}',
  '{"iter": 1, "loss": 3.25, "dt": 40}',
  '{"iter": 2, "val/loss": 3.125, "val": {"accuracy": 0.5}}',
  '{"iter": 2, "loss": 3, "dt": 95}',
  '{"iter": 3, "loss": 2.75, "dt": 41}',
  '{"iter": 4, "val/loss": 2.875, "val": {"accuracy": 0.625}}',
]
const without = (key: 'keys' | 'samples_per_step', change: object = {}) => {
  const { [key]: left, ...section } = SECTION
  return { ...section, ...(typeof left === 'object' ? { [key]: { ...left, ...change } } : {}) }
}

describe('a file of JSON lines', () => {
  test('becomes steps and evaluations, in seconds and counted from 1', async () => {
    const { problem, steps, evaluations, end } = await readAs(SECTION, LINES)
    expect(problem).toBeNull()
    expect(steps.seconds).toEqual([0.9005, 0.04, 0.095, 0.041])
    expect(steps).toMatchObject({ samples: [512, 512, 512, 512], trainLoss: [3.5, 3.25, 3, 2.75] })
    expect(evaluations).toMatchObject([
      { step: 2, samples_seen: 1024, val_loss: 3.125, metrics: { accuracy: 0.5 } },
      { step: 4, samples_seen: 2048, val_loss: 2.875, metrics: { accuracy: 0.625 } },
    ])
    expect(end).toMatchObject({ samples: 2048, attempted_updates: 4 })
  })

  test('marks the step whose time may contain an evaluation', async () => {
    const { steps } = await readAs(SECTION, LINES)
    expect(steps.held).toEqual([{ index: 2, what: 'evaluation' }])
  })

  test('says who knows what', async () => {
    const { facts } = await readAs(SECTION, LINES)
    expect(facts).toMatchObject({ step_seconds: 'read', samples: 'declared', held_out_loss: 'read' })
    expect(facts).toMatchObject({ config: 'unknown', effective_settings: 'unknown', seed: 'unknown' })
  })

  test('without declared samples has none', async () => {
    const { facts, problem } = await readAs(without('samples_per_step'), LINES)
    expect([facts.samples, problem]).toEqual(['unknown', null])
  })

  test('may have the samples of each step', async () => {
    const section = without('samples_per_step')
    const keys = { ...SECTION.keys, samples: 'tokens' }
    const lines = LINES.map((line) => line.replace('"dt"', '"tokens": 100, "dt"'))
    const { facts, steps, evaluations } = await readAs({ ...section, keys }, lines)
    expect([facts.samples, steps.samples[3], evaluations[1]?.samples_seen]).toEqual(['read', 100, 400])
  })

  test('without step seconds has evaluations alone', async () => {
    const { facts, steps, evaluations, problem, end } = await readAs(
      without('keys', { step_seconds: undefined }),
      LINES,
    )
    expect([facts.step_seconds, problem, steps.seconds, evaluations.length]).toEqual(['unknown', null, [], 2])
    expect(end).toMatchObject({ attempted_updates: 4, samples: 2048 })
  })
})

describe('clock times', () => {
  const section = {
    ...SECTION,
    keys: { step: 'step', time: 'time', train_loss: 'loss', val_loss: 'eval', evaluation_seconds: 'took' },
    units: {},
    first_step: 1,
  }
  const LINES = [
    '{"step": 10, "time": 100, "loss": 3}',
    '{"step": 20, "time": 105, "loss": 2}',
    '{"step": 20, "time": 107, "eval": 2.5, "took": 2}',
    '{"step": 40, "time": 117, "loss": 1}',
    '{"step": 40, "time": 119, "eval": 1.5, "took": 2}',
  ]

  test('give the mean of each window, without its evaluations', async () => {
    const { facts, steps, problem, start } = await readAs(section, LINES)
    expect([problem, facts.step_seconds]).toEqual([null, 'derived'])
    expect([steps.seconds[10], steps.seconds[20], steps.seconds[39]]).toEqual([0.5, 0.5, 0.5])
    expect([steps.seconds.length, steps.held.length]).toEqual([40, 0])
    expect(start?.steps_include).toEqual(['checkpoint'])
  })

  test('leave an evaluation of unknown duration in the window, which is said', async () => {
    const lines = LINES.map((line) => line.replace(/, "took": 2/, ''))
    const { steps } = await readAs(section, lines)
    expect(steps.seconds[20]).toBe(0.6)
    expect(steps.held).toHaveLength(20)
    expect(steps.held[0]).toEqual({ index: 20, what: 'evaluation' })
  })

  test('that run backwards, or that evaluations exceed, are refused', async () => {
    expect(await problemAs(section, LINES.toSpliced(3, 1, '{"step": 40, "time": 105, "loss": 1}'))).toMatch(
      /^out-of-order: train\.jsonl line 4: .*time/,
    )
    expect(
      await problemAs(section, LINES.with(2, '{"step": 20, "time": 107, "eval": 2, "took": 2000}')),
    ).toMatch(/^malformed: train\.jsonl line 4: .*evaluation_seconds/)
    expect(await problemAs(section, LINES.slice(0, 1))).toMatch(/only one row has a time/)
  })
})

test('a number that is none is wrong only where it is read', async () => {
  const unread = ', "grad_norm": NaN, "lr": [-Infinity, {"x": NaN}], "note": "a \\"NaN\\" \\\\" }'
  const { problem, evaluations } = await readAs(
    SECTION,
    LINES.map((line) => line.replace(/\}$/, unread)),
  )
  expect([problem, evaluations]).toEqual([null, (await readAs(SECTION, LINES)).evaluations])
})

describe('a line that is wrong', () => {
  const problem = async (index: number, line: string, section: object = SECTION) =>
    await problemAs(section, LINES.with(index, line))

  test.each([
    [
      '{"iter": 4, "val/loss": NaN}',
      /^not-finite: train\.jsonl line 6: val_loss \(val\/loss\): got "NaN".*diverged/,
    ],
    ['{"iter": 4, "val/loss": -Infinity}', /^not-finite: .*line 6: val_loss .*got "-Infinity"/],
    ['{"iter": 4, "val/loss": "NaN"}', /^not-finite: train\.jsonl line 6: val_loss \(val\/loss\).*diverged/],
    [
      '{"iter": 4, "val/loss": null}',
      /^malformed: train\.jsonl line 6: val_loss \(val\/loss\): got null.*diverged/,
    ],
    ['{"iter": 4, "val/loss": "low"}', /^malformed: .*line 6: .*got "low", expected a number/],
    ['{"val/loss": 2}', /^malformed: .*line 6: step \(iter\): is missing/],
    [
      '{"iter": 4.5, "val/loss": 2}',
      /^malformed: .*line 6: step \(iter\): got 4\.5, expected a whole number/,
    ],
    ['{"iter": 40, "val/loss": 2}', /^out-of-order: .*line 6: .*after 40 steps, but only 4/],
    ['{"iter": 1, "val/loss": 2}', /^out-of-order: .*line 6: .*after 1 steps, but .* after 2/],
    ['{"iter": 4, "val/l', /^truncated: train\.jsonl line 6/],
    ['done', /^malformed: train\.jsonl line 6: not valid JSON: "done"/],
    ['[4]', /^malformed: train\.jsonl line 6: is no JSON object/],
  ])('is told: %s', async (line, told) => {
    expect(await problem(5, line)).toMatch(told)
  })

  test('is told of the steps too', async () => {
    expect(await problem(4, '{"iter": 5, "dt": 41}')).toMatch(/line 5: is step 6, expected 4: .*every step/)
    expect(await problem(4, '{"iter": 1, "dt": 41}')).toMatch(/line 5: is step 2 after step 3; .*rank 0/)
    expect(await problem(1, '{"iter": 1, "dt": -1}')).toMatch(/line 2: step_seconds\.0: got -0\.001/)
  })

  test('names the key for a source that counts otherwise', async () => {
    expect(await problemAs({ ...SECTION, first_step: 1 }, LINES)).toMatch(/line 1: .*metrics\.first_step: 0/)
    const fromOne = LINES.map((line) =>
      line.includes('dt') ? line.replace(/"iter": (\d)/, (_, n) => `"iter": ${Number(n) + 1}`) : line,
    )
    expect(await problemAs(SECTION, fromOne)).toMatch(/line 1: .*metrics\.first_step: 1/)
  })

  test('is an empty file', async () => {
    expect(await problemAs(SECTION, [])).toMatch(/^empty: train\.jsonl/)
  })
})

test('the live view sees the steps of a file whose path is known', () => {
  const reader = theReader(SECTION)
  expect(reader.liveFile).toBe('trainer/logs/train.jsonl')
  expect(reader.liveEvent(LINES[1] ?? '')).toMatchObject({
    event: 'steps',
    first_step: 2,
    step_seconds: [0.04],
  })
  expect([reader.liveEvent(LINES[2] ?? ''), reader.liveEvent('{"it')]).toEqual([null, null])
  expect(theReader({ ...SECTION, file: '*/train.jsonl' }).liveFile).toBeNull()
})
