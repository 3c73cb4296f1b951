// What a source does not tell is unknown, and no event makes a fact more trustworthy than its reader has it.
import { describe, expect, test } from 'vitest'
import { piecesOf } from '../../src/read/lines.ts'
import { readMetrics } from '../../src/read/read-metrics.ts'
import type { Reader } from '../../src/read/reader.ts'
import { speedproof } from '../../src/read/sources/speedproof.ts'
import { type MetricsDifference, metricsLines, readMetricsLines } from '../fixtures/builders.ts'

const NOTHING_KNOWN = {
  config: undefined,
  config_hash: undefined,
  seed: undefined,
  world_size: undefined,
  device_names: undefined,
  versions: undefined,
  parameter_count: undefined,
  data_hash: undefined,
  evaluation_samples: undefined,
  effective: undefined,
}

const read = (difference: MetricsDifference) => readMetricsLines(metricsLines(difference))
const factsOf = async (difference: MetricsDifference) => (await read(difference)).facts

test('a trainer of the contract may leave out what it does not know', async () => {
  const { problem, facts } = await read({ start: NOTHING_KNOWN, samplesPerStep: null })
  expect(problem).toBeNull()
  expect(facts).toEqual({
    step_seconds: 'reported',
    samples: 'unknown',
    held_out_loss: 'reported',
    held_out_set: 'unknown',
    training_data: 'unknown',
    config: 'unknown',
    seed: 'unknown',
    world_size: 'unknown',
    parameters: 'unknown',
    memory: 'unknown',
    effective_settings: 'unknown',
  })
})

test('a held-out set is known by its hash and its number of samples together', async () => {
  expect((await factsOf({})).held_out_set).toBe('reported')
  expect((await factsOf({ start: { evaluation_samples: undefined } })).held_out_set).toBe('unknown')
  expect((await factsOf({ start: { data_hash: undefined } })).held_out_set).toBe('unknown')
})

test('an evaluation may tell its own held-out set', async () => {
  const start = { data_hash: undefined, evaluation_samples: undefined }
  const factsWith = async (more: object) => (await factsOf({ start, evaluation: more })).held_out_set
  expect(await factsWith({ data_hash: '5e7', evaluation_samples: 64 })).toBe('reported')
  expect(await factsWith({ data_hash: '5e7' })).toBe('unknown')
})

test('settings of which none was read back are unknown', async () => {
  expect((await factsOf({ start: { effective: {} } })).effective_settings).toBe('unknown')
})

test('events may say that a fact comes from a worse source, and never from a better one', async () => {
  const derived: Reader = { ...speedproof, facts: { ...speedproof.facts, step_seconds: 'derived' } }
  const lines = metricsLines({ start: { facts: { step_seconds: 'reported', samples: 'declared' } } })
  const { facts } = await readMetrics(derived, () => piecesOf(lines))
  expect([facts.step_seconds, facts.samples]).toEqual(['derived', 'declared'])
})

describe('without samples every step counts as one', () => {
  test('in all that is counted', async () => {
    const { steps, evaluations, end } = await read({ samplesPerStep: null })
    expect(steps.samples).toEqual(steps.seconds.map(() => 1))
    expect([evaluations.at(-1)?.samples_seen, end?.samples]).toEqual([40, 40])
  })

  test('and no other number of samples may be beside them', async () => {
    const ended = await read({ samplesPerStep: null, end: { samples: 640 } })
    expect(ended.problem).toMatchObject({ kind: 'malformed', message: expect.stringContaining('run_end') })
    const evaluated = await read({ samplesPerStep: null, evaluation: { samples_seen: 640 } })
    expect(evaluated.problem).toMatchObject({ kind: 'malformed' })
  })

  test('but not in some windows alone', async () => {
    const [start = '', first = '', ...rest] = metricsLines()
    const unknown = JSON.stringify({ ...JSON.parse(first), samples: undefined })
    const { problem } = await readMetricsLines([start, unknown, ...rest])
    expect(problem).toMatchObject({ kind: 'malformed', message: expect.stringContaining('samples') })
  })
})

test('an event that does not count samples has those of its steps', async () => {
  const { evaluations, end } = await read({
    evaluation: { step: 39, samples_seen: undefined },
    end: { samples: undefined },
  })
  expect([evaluations.at(-1)?.samples_seen, end?.samples]).toEqual([39 * 16, 40 * 16])
})

test('steps that hold more than themselves are known by their number', async () => {
  const { steps } = await read({ holds: { 5: 'checkpoint', 30: 'evaluation' } })
  expect(steps.held).toEqual([
    { index: 4, what: 'checkpoint' },
    { index: 29, what: 'evaluation' },
  ])
})

test('a column of what steps hold has one entry for each of them', async () => {
  const [start = '', first = '', ...rest] = metricsLines()
  const short = JSON.stringify({ ...JSON.parse(first), holds: ['evaluation'] })
  const { problem } = await readMetricsLines([start, short, ...rest])
  expect(problem).toMatchObject({ kind: 'malformed', message: expect.stringContaining('holds') })
})
