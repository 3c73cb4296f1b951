// A metrics file is whole, or says on which line it is not; what came before that line is kept.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { outcomeOf } from '../../../src/measure/outcome.ts'
import type { MetricsRecord } from '../../../src/read/metrics-record.ts'
import { aLaunchRecord, aPlannedRun, metricsLines, readMetricsLines } from '../../fixtures/builders.ts'

/** Line 1 run_start, 2 and 3 steps, 4 evaluation, 5 run_end. */
const LINES = metricsLines()
const problemOf = async (lines: readonly string[]) => {
  const { problem } = await readMetricsLines(lines)
  return problem && `${problem.kind}: ${problem.message}`
}
/** The file with line `number` (from 1) replaced, or left out. */
const withLine = (number: number, ...instead: string[]) => LINES.toSpliced(number - 1, 1, ...instead)
const changed = (number: number, change: object) =>
  withLine(number, JSON.stringify({ ...JSON.parse(LINES[number - 1] ?? ''), ...change }))

describe('a whole file', () => {
  test('has no problem, and its columns start at step 1', async () => {
    const record = await readMetricsLines(LINES)
    expect(record.problem).toBeNull()
    expect(record.steps.seconds).toEqual(Array(40).fill(0.08))
    expect(record.steps.samples).toEqual(Array(40).fill(16))
    expect(record).toMatchObject({ start: { world_size: 2 }, end: { samples: 640 } })
    expect(record.evaluations).toHaveLength(1)
  })

  test('keeps the losses and the waits of its steps', async () => {
    const columns = { train_loss: Array(20).fill(0.5), data_wait_seconds: Array(20).fill(0.01) }
    const { steps } = await readMetricsLines(changed(2, columns))
    expect(steps).toMatchObject({
      trainLoss: columns.train_loss,
      dataWaitSeconds: columns.data_wait_seconds,
    })
  })

  test('may have CRLF line ends and blank lines', async () => {
    const lines = LINES.flatMap((line) => [`${line}\r`, '', '  ', '\r'])
    expect(await readMetricsLines(lines)).toEqual(await readMetricsLines(LINES))
  })

  test('may begin with a byte order mark, as an experiment file may', async () => {
    expect(await readMetricsLines([`\uFEFF${LINES[0]}`, ...LINES.slice(1)])).toEqual(
      await readMetricsLines(LINES),
    )
    expect(await problemOf(withLine(2, `\uFEFF${LINES[1]}`))).toMatch(/^malformed: .* line 2: not valid JSON/)
  })

  test('may have keys that this version does not know', async () => {
    expect(await problemOf(changed(1, { colour: 'red' }))).toBeNull()
    expect(await problemOf(changed(2, { tokens: [1] }))).toBeNull()
  })

  test('may have phases and epochs anywhere between run_start and run_end', async () => {
    const phase = '{"event":"phase","name":"compile","seconds":2.5,"step":3}'
    const { phases, problem } = await readMetricsLines([
      ...LINES.slice(0, 2),
      phase,
      '{"event":"epoch","epoch":1,"step":20}',
      ...LINES.slice(2),
    ])
    expect(problem).toBeNull()
    expect(phases).toEqual([{ name: 'compile', seconds: 2.5, step: 3 }])
  })

  test('may have a window of 300,000 steps', async () => {
    const steps = 300_000
    const window = {
      event: 'steps',
      first_step: 1,
      step_seconds: Array(steps).fill(0.1),
      samples: Array(steps).fill(16),
    }
    const { problem, steps: columns } = await readMetricsLines([
      ...LINES.slice(0, 1),
      JSON.stringify(window),
      ...LINES.slice(3),
    ])
    expect([problem, columns.seconds.length]).toEqual([null, steps])
  })
})

describe('a file that is not whole', () => {
  test('is empty without any event', async () => {
    expect(await problemOf([])).toMatchInlineSnapshot(`"empty: metrics.jsonl has no events"`)
    expect(await problemOf(['', ' '])).toMatchInlineSnapshot(`"empty: metrics.jsonl has no events"`)
  })

  test('is truncated in the middle of a line, and keeps the steps before', async () => {
    const half = LINES[2]?.slice(0, 60) ?? ''
    expect(await problemOf([...LINES.slice(0, 2), half])).toMatch(
      /^truncated: metrics\.jsonl line 3: not valid JSON .*60 characters, cut off.*rank 0.*first_step/,
    )
    expect((await readMetricsLines([...LINES.slice(0, 2), half])).steps.seconds).toHaveLength(20)
  })

  test('is truncated without run_end', async () => {
    expect(await problemOf(LINES.slice(0, -1))).toMatchInlineSnapshot(
      `"truncated: metrics.jsonl ends before run_end"`,
    )
  })

  test('is truncated after any of its characters', async () => {
    const text = LINES.join('\n')
    for (let length = 0; length < text.length; length += 7) {
      expect((await readMetricsLines(text.slice(0, length).split('\n'))).problem).not.toBeNull()
    }
  })

  test('has no steps', async () => {
    expect(await problemOf(LINES.toSpliced(1, 2))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl has no steps event"`,
    )
  })

  test('has no evaluation', async () => {
    expect(await problemOf(withLine(4))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl has no evaluation event"`,
    )
  })
})

describe('a number that is none', () => {
  test.each(['NaN', 'Infinity', '-Infinity'])('as Python writes it, %s, means divergence', async (token) => {
    const line = LINES[3]?.replace('0.02', token) ?? ''
    expect(await problemOf(withLine(4, line))).toMatch(
      new RegExp(`^not-finite: metrics\\.jsonl line 4: val_loss: ${token} is not a number.*diverged`),
    )
  })

  test('is told with its key, also in a list, where that is sure', async () => {
    const told = async (text: string) => (await problemOf(['', text]))?.split('line 2: ')[1]?.split(';')[0]
    expect(await told('{"step_seconds": [1, 2, NaN]}')).toBe('step_seconds: NaN is not a number')
    expect(await told('{"a": [{"b": 1}, NaN]}')).toBe('NaN is not a number')
    expect(await told('NaN')).toBe('NaN is not a number')
    expect(await told(`{"${'x'.repeat(61)}": NaN}`)).toBe('NaN is not a number')
  })

  test('past what a double holds is refused', async () => {
    expect(await problemOf(withLine(4, LINES[3]?.replace('0.02', '1e999') ?? ''))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 4: val_loss: got Infinity, expected a finite number; check whether the training diverged"`,
    )
  })

  test.each<[string, number, object]>([
    ['null, as orjson writes it', 4, { val_loss: null }],
    ['a text', 4, { val_loss: 'NaN' }],
    ['a text of numpy', 4, { val_loss: '-inf' }],
    ['a text of JavaScript', 4, { val_loss: 'Infinity' }],
    ['null in a list', 2, { train_loss: [null] }],
    ['a text in a list', 2, { train_loss: ['nan'] }],
    ['null among the metrics', 4, { metrics: { nrmse: null } }],
  ])('that is %s has the hint that the training may have diverged', async (_, line, change) => {
    expect(await problemOf(changed(line, change))).toMatch(/^malformed: .*diverged/)
  })

  test('as null or text is refused', async () => {
    expect(await problemOf(changed(4, { val_loss: null }))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 4: val_loss: got null, expected a finite number; check whether the training diverged"`,
    )
    expect(await problemOf(changed(4, { val_loss: '0.02' }))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 4: val_loss: got "0.02", expected a finite number"`,
    )
    expect(await problemOf(changed(2, { step_seconds: [0.1, 'NaN'] }))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 2: step_seconds.1: got "NaN", expected a finite number"`,
    )
  })

  test('as null is a gradient norm that is not finite, and nothing else of a step', async () => {
    const column = [null, ...Array(19).fill(0.1)]
    expect(await problemOf(changed(2, { gradient_norm: column }))).toBeNull()
    expect(await problemOf(changed(2, { train_loss: column }))).toMatch(
      /^malformed: metrics\.jsonl line 2: train_loss\.0: got null, expected a finite number.*diverged/,
    )
  })

  test('inside a text is a text', async () => {
    expect(await problemOf(changed(1, { effective: { skip: 'NaN' } }))).toBeNull()
  })
})

describe('an event', () => {
  test('of an unknown kind is refused', async () => {
    expect(await problemOf(withLine(4, '{"event":"eval","step":1}'))).toMatch(
      /^malformed: metrics\.jsonl line 4: event: got "eval", expected one of run_start, .*run_end$/,
    )
    expect(await problemOf(withLine(4, '[1]'))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 4: event: got [1], expected a mapping"`,
    )
    expect(await problemOf(withLine(4, 'null'))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 4: event: got null, expected a mapping"`,
    )
    expect(await problemOf(withLine(4, 'step 1 done'))).toMatch(
      /^malformed: metrics\.jsonl line 4: not valid JSON: "step 1 done".*only .*rank 0$/,
    )
  })

  test('of another schema version is refused', async () => {
    expect(await problemOf(changed(1, { schema_version: 2 }))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 1: schema_version: got 2, expected one of 1"`,
    )
  })

  test('that contradicts itself', async () => {
    expect(await problemOf(changed(1, { effective: { pairs: 8 }, work_keys: ['pairs'] }))).toBeNull()
    expect(await problemOf(changed(1, { work_keys: ['pairs'] }))).toMatch(
      /line 1: work_keys names "pairs".*effective/,
    )
    expect(await problemOf(changed(4, { metrics: { nrmse: 0.1 }, not_finite: ['mass_gap'] }))).toBeNull()
    expect(await problemOf(changed(4, { metrics: { nrmse: 0.1 }, not_finite: ['nrmse'] }))).toMatch(
      /line 4: not_finite names "nrmse".*metrics/,
    )
  })

  test('has plain values in its read-back', async () => {
    expect(await problemOf(changed(1, { effective: { a: null } }))).toMatch(
      /^malformed: metrics\.jsonl line 1: effective\.a: got null, expected a text, .*false$/,
    )
    expect(await problemOf(changed(1, { effective: { a: { b: 1 } } }))).toMatch(
      /^malformed: metrics\.jsonl line 1: effective\.a: got \{"b":1\}, expected a text, .*false$/,
    )
  })

  test('has numbers in their range', async () => {
    expect(await problemOf(changed(2, { step_seconds: [0] }))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 2: step_seconds.0: got 0, expected at least 1e-9"`,
    )
    expect(await problemOf(changed(2, { samples: [-1] }))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 2: samples.0: got -1, expected at least 0"`,
    )
    expect(await problemOf(changed(5, { samples: 1.5 }))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 5: samples: got 1.5, expected a whole number"`,
    )
    expect(await problemOf(changed(5, { status: 'failed' }))).toMatchInlineSnapshot(
      `"malformed: metrics.jsonl line 5: status: got "failed", expected one of finished"`,
    )
  })

  test('has parameters, and held-out samples for its val_loss', async () => {
    for (const key of ['parameter_count', 'evaluation_samples']) {
      expect(await problemOf(changed(1, { [key]: 0 }))).toBe(
        `malformed: metrics.jsonl line 1: ${key}: got 0, expected at least 1`,
      )
      expect(await problemOf(changed(1, { [key]: 1 }))).toBeNull()
    }
  })

  test('of steps follows the steps before it without a gap', async () => {
    expect(await problemOf(changed(3, { first_step: 22 }))).toMatchInlineSnapshot(
      `"out-of-order: metrics.jsonl line 3: first_step is 22, expected 21"`,
    )
    expect(await problemOf(changed(3, { first_step: 1 }))).toMatch(
      /^out-of-order: metrics\.jsonl line 3: first_step is 1, expected 21.*only rank 0/,
    )
  })

  test('of steps has columns of one length', async () => {
    expect(await problemOf(changed(2, { samples: [16] }))).toMatch(
      /^malformed: metrics\.jsonl line 2: samples has 1 entries, expected 20/,
    )
    expect(await problemOf(changed(2, { train_loss: [0.1, 0.2] }))).toMatch(
      /^malformed: metrics\.jsonl line 2: train_loss has 2 entries, expected 20/,
    )
    for (const key of ['learning_rate', 'gradient_norm', 'data_wait_seconds'])
      expect(await problemOf(changed(2, { [key]: [0.001] }))).toMatch(
        new RegExp(`^malformed: metrics\\.jsonl line 2: ${key} has 1 entries, expected 20`),
      )
    const whole = { learning_rate: Array(20).fill(0.001), gradient_norm: [null, ...Array(19).fill(1)] }
    expect(await problemOf(changed(2, whole))).toBeNull()
  })

  test('of steps waits for its batches within its steps, one by one or not', async () => {
    const waiting = (...waits: number[]) => changed(2, { data_wait_seconds: waits })
    expect(await problemOf(waiting(...Array(20).fill(80)))).toMatch(
      /^malformed: metrics\.jsonl line 2: data_wait_seconds .*26 min 40 s, .*20 steps took 2 s\. .*step_seconds$/,
    )
    const ahead = [1, ...Array(19).fill(0)]
    expect(await problemOf(waiting(...ahead))).toBeNull()
    expect(await problemOf(waiting(...Array(20).fill(0.081)))).toBeNull()
    expect(await problemOf(waiting(...Array(20).fill(0.083)))).not.toBeNull()
  })

  test('counts the skipped updates of the whole run, which are some of those attempted', async () => {
    const skipping = async (inEnd: number, inWindow: number) => {
      const [start, first, ...others] = LINES.map((line) => JSON.parse(line))
      const [end, ...between] = others.reverse()
      const events = [start, { ...first, skipped_updates: inWindow }, ...between.reverse()]
      const lines = [...events, { ...end, skipped_updates: inEnd }].map((event) => JSON.stringify(event))
      return await problemOf(lines)
    }
    expect(await skipping(41, 0)).toMatch(
      /^malformed: metrics\.jsonl line 5: skipped_updates is 41, .*at most .*40 of attempted_updates/,
    )
    expect(await skipping(2, 3)).toMatch(
      /^malformed: metrics\.jsonl line 5: skipped_updates is 2, .*steps events have 3\. .*whole run$/,
    )
    expect([await skipping(3, 3), await skipping(40, 0)]).toEqual([null, null])
  })

  test('comes between run_start and run_end', async () => {
    expect(await problemOf(withLine(1))).toMatchInlineSnapshot(
      `"out-of-order: metrics.jsonl line 1: steps before run_start"`,
    )
    expect(await problemOf([...LINES, LINES[3] ?? ''])).toMatchInlineSnapshot(
      `"out-of-order: metrics.jsonl line 6: evaluation after run_end"`,
    )
  })

  test('of a run before is a stale file', async () => {
    expect(await problemOf([LINES[0] ?? '', ...LINES])).toMatch(
      /^out-of-order: metrics\.jsonl line 2: a second run_start\. .*fresh metrics\.jsonl .*only from rank 0$/,
    )
    expect(await problemOf([...LINES, ...LINES])).toMatchInlineSnapshot(
      `"out-of-order: metrics.jsonl line 6: run_start after run_end"`,
    )
  })
})

describe('a file that every rank writes is told as one', () => {
  const [start = '', first = '', second = ''] = LINES
  test.each([
    ['where all append', [start, start, first, first]],
    ['where all append their steps', [start, first, first]],
    ['where one writes into the line of another', [start, `{"e${first}{${second}`]],
    ['where one writes over the line of another', [start, first.slice(2), second]],
  ])('%s', async (_, lines) => {
    expect(await problemOf(lines)).toMatch(/only (?:from )?rank 0/)
  })
})

describe('what is counted by rank', () => {
  test('has one entry for each', async () => {
    expect(await problemOf(changed(1, { device_names: ['GPU'] }))).toMatch(
      /^malformed: metrics\.jsonl line 1: device_names has 1 entries, expected 2/,
    )
    expect(await problemOf(changed(5, { peak_memory_reserved_bytes: [1] }))).toMatch(
      /^malformed: metrics\.jsonl line 5: peak_memory_reserved_bytes has 1 entries, expected 2/,
    )
    expect(await problemOf(changed(5, { allocation_retries: [0] }))).toMatch(
      /^malformed: metrics\.jsonl line 5: allocation_retries has 1 entries, expected 2/,
    )
  })

  test('has no less memory reserved than allocated', async () => {
    const allocated = { peak_memory_allocated_bytes: [40e9, 60e9] }
    expect(await problemOf(changed(5, { ...allocated, peak_memory_reserved_bytes: [45e9, 0] }))).toMatch(
      /^malformed: metrics\.jsonl line 5: peak_memory_reserved_bytes is 0 on rank 1, .*peak_memory_allocated_bytes of 60000000000\. .*same device/,
    )
    expect(await problemOf(changed(5, { ...allocated, peak_memory_reserved_bytes: [40e9, 60e9] }))).toBeNull()
  })
})

describe('what could fill the memory', () => {
  test('is a config as deep as recursion cannot go', async () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    const withConfig = (depth: number) => [
      (LINES[0] ?? '').replace(/"config":\{[^}]*\}/, `"config":{"a":${nested(depth)}}`),
      ...LINES.slice(1),
    ]
    expect(await problemOf(withConfig(98))).toBeNull()
    expect(await problemOf(withConfig(99))).toMatch(
      /^too-large: metrics\.jsonl line 1: nests .*100 deep; leave out/,
    )
    expect(await problemOf(withConfig(200_000))).toContain('nests lists or mappings')
  })

  /** A file with one window of so many steps, each of a few bytes. */
  const withWindow = (steps: number, change: object = {}) => {
    const columns = { step_seconds: Array(steps).fill(1), samples: Array(steps).fill(1) }
    const window = JSON.stringify({ event: 'steps', first_step: 1, ...columns, ...change })
    return [LINES[0] ?? '', window, ...LINES.slice(3)]
  }

  test('is a description', async () => {
    expect(await problemOf(changed(1, { config: { text: 'x'.repeat(1_100_000) } }))).toMatch(
      /^too-large: metrics.jsonl line 1: has 1100\d+ characters, expected at most 1048576 /,
    )
    const evaluation = JSON.parse(LINES[3] ?? '')
    const many = Array(9).fill(JSON.stringify({ ...evaluation, note: 'x'.repeat(1_000_000) }))
    expect(await problemOf(withLine(4, ...many))).toMatch(
      /^too-large: metrics.jsonl line 12: events other than steps take more than 8388608 characters/,
    )
  })

  test('is a million steps, in one window or in several', async () => {
    const { problem, steps } = await readMetricsLines(withWindow(1_000_000))
    expect([problem, steps.seconds.length, steps.samples.length]).toEqual([null, 1_000_000, 1_000_000])
    const tooMany = 'the run has 1000001 steps so far, expected at most 1000000. Measure a shorter training'
    expect(await problemOf(withWindow(1_000_001))).toBe(`too-large: metrics.jsonl line 2: ${tooMany}`)
    const [start = '', whole = ''] = withWindow(1_000_000)
    const one = '{"event":"steps","first_step":1000001,"step_seconds":[1],"samples":[1]}'
    expect(await problemOf([start, whole, one])).toBe(`too-large: metrics.jsonl line 3: ${tooMany}`)
  })

  test('is an error for each number of a window: the first is told, with its place in the window', async () => {
    const wrong = [...Array(30_000).fill(1), ...Array(970_000).fill('')]
    expect(await problemOf(withWindow(1_000_000, { step_seconds: wrong }))).toBe(
      'malformed: metrics.jsonl line 2: step_seconds.30000: got "", expected a finite number',
    )
  })

  test('is read in parts, which make the same window', async () => {
    const losses = Array.from({ length: 25_000 }, (_, step) => step / 7)
    const window = { train_loss: losses, skipped_updates: 2 }
    const { problem, steps } = await readMetricsLines(withWindow(25_000, window))
    expect(problem?.message).toMatch(
      /^metrics\.jsonl line 4: skipped_updates is 0, .*steps events have 2\. .*whole run$/,
    )
    expect(steps.trainLoss).toEqual(losses)
    expect(await problemOf(withWindow(25_000, { train_loss: losses.slice(1) }))).toMatch(
      /^malformed: metrics\.jsonl line 2: train_loss has 24999 entries, expected 25000/,
    )
    expect(await problemOf(withWindow(25_000, { first_step: 2 }))).toBe(
      'out-of-order: metrics.jsonl line 2: first_step is 2, expected 1',
    )
  })
})

describe('garbage', () => {
  const finished = (record: MetricsRecord) =>
    outcomeOf(aPlannedRun(), aLaunchRecord(), record).status === 'finished'

  test('of any kind is read without a crash, and a finished run has its start and its end', async () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.constantFrom(...LINES),
      fc.constantFrom(...LINES).chain((whole) => fc.nat(whole.length).map((end) => whole.slice(0, end))),
    )
    const files = fc.oneof(fc.array(line, { maxLength: 12 }), fc.shuffledSubarray(LINES))
    await fc.assert(
      fc.asyncProperty(files, async (lines) => {
        if (!finished(await readMetricsLines(lines))) return
        const events = lines.filter((one) => one.trim() !== '')
        expect([events[0], events.at(-1)]).toEqual([LINES[0], LINES[4]])
        expect(events).toContain(LINES[3])
      }),
      { numRuns: 300 },
    )
  })

  test('in one key of a whole file is refused or harmless, never a number that is not finite', async () => {
    const path = fc.constantFrom(
      [1, 'world_size'],
      [1, 'period_steps'],
      [2, 'step_seconds'],
      [2, 'samples'],
      [3, 'first_step'],
      [4, 'val_loss'],
      [4, 'metrics'],
      [5, 'samples'],
      [5, 'total_seconds'],
      [5, 'peak_memory_reserved_bytes'],
    ) as fc.Arbitrary<[number, string]>
    await fc.assert(
      fc.asyncProperty(path, fc.jsonValue(), async ([number, key], value) => {
        const record = await readMetricsLines(changed(number, { [key]: value }))
        const numbers = JSON.stringify(record, (_, one) =>
          typeof one === 'number' && !Number.isFinite(one) ? 'not finite' : one,
        )
        expect(numbers).not.toContain('"not finite"')
      }),
      { numRuns: 300 },
    )
  })

  test('between whole lines stops a run from being finished', async () => {
    const garbage = fc.string({ minLength: 1 }).filter((text) => text.trim() !== '')
    await fc.assert(
      fc.asyncProperty(fc.nat(5), garbage, async (position, text) => {
        expect(finished(await readMetricsLines(LINES.toSpliced(position, 0, text)))).toBe(false)
      }),
      { numRuns: 300 },
    )
  })
})
