// Reads what the Python package of Speedproof records: the file of the contract, with what the experiment adds that it cannot see.
import { stripVTControlCharacters } from 'node:util'
import type { SourceOf } from '../../config/metrics.ts'
import { isMapping } from '../../config/same-work/differences.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import { problemAt } from '../event-problems.ts'
import type { ReadEvent, Reader, Source } from '../reader.ts'
import { evaluationLines, LOG_FILE, noMatch, PRINTED_FILE } from '../rows/evaluation-lines.ts'
import { boundedLines } from '../rows/log-lines.ts'
import type { EvaluationRow } from '../rows/row.ts'
import { speedproof } from './speedproof.ts'

const NAME = 'metrics.jsonl'

type Section = SourceOf<'recorder'>
type Known = Extract<ReadEvent, { where: string }> & { readonly event: Record<string, unknown> }

export function recorder(section: Section): Reader {
  const { format, samples_per_step: each, evaluation_samples, patterns } = section
  return {
    ...speedproof,
    name: format,
    title: NAME,
    absent:
      'the recorder saw no optimizer step. Check that the script trains, and with an optimizer of torch',
    facts: {
      ...speedproof.facts,
      ...(each === undefined ? {} : { samples: 'declared' as const }),
      ...(evaluation_samples === undefined ? {} : { held_out_set: 'declared' as const }),
      ...(patterns === undefined ? {} : { held_out_loss: 'read' as const }),
    },
    files: patterns === undefined ? speedproof.files : [...speedproof.files, PRINTED_FILE],
    ...(patterns && {
      collected: { target: PRINTED_FILE, pattern: LOG_FILE, choice: 'only', converter: null },
    }),
    // Where the package has to write, in every process of the launch.
    environment: (directory) => ({ SPEEDPROOF_RECORD: `${directory}/${TRAINER_FOLDER}` }),
    read: (source) => withPrinted(withDeclared(speedproof.read(source), section), source, section),
  }
}

/** What the package saw itself is held against it. */
async function* withDeclared(
  events: AsyncIterable<ReadEvent>,
  { samples_per_step: each, evaluation_samples }: Section,
): AsyncGenerator<ReadEvent> {
  let samples = 0
  for await (const read of events) {
    if (!isKnown(read)) {
      yield read
      continue
    }
    const { event } = read
    if (event.event === 'run_start' && evaluation_samples !== undefined)
      yield withMore(read, { evaluation_samples: event.evaluation_samples ?? evaluation_samples })
    else if (each === undefined) yield read
    else if (event.event === 'steps') {
      samples += each * stepsOf(event)
      yield windowOf(read, each)
    } else if (event.event === 'evaluation' && typeof event.step === 'number')
      yield withMore(read, { samples_seen: event.samples_seen ?? event.step * each })
    else if (event.event === 'run_end') yield withMore(read, { samples: event.samples ?? samples })
    else yield read
  }
}

function windowOf(read: Known, each: number): ReadEvent {
  const { samples } = read.event
  const other = Array.isArray(samples) ? samples.find((count) => count !== each) : undefined
  if (other === undefined)
    return withMore(read, { samples: samples ?? Array(stepsOf(read.event)).fill(each) })
  const reason = `samples has ${JSON.stringify(other)}, but metrics.samples_per_step is ${each}. Leave samples_per_step out, or correct it`
  return { problem: problemAt(read.where, 'malformed', reason) }
}

/** With the evaluations of the log, which lie in the time of the step that follows each. */
async function* withPrinted(
  events: AsyncIterable<ReadEvent>,
  source: Source,
  section: Section,
): AsyncGenerator<ReadEvent> {
  if (section.patterns === undefined) {
    yield* withEvaluations(events)
    return
  }
  const printed: EvaluationRow[] = []
  for await (const row of printedEvaluations(source, section.patterns.evaluation, section)) {
    if ('problem' in row) {
      yield row
      return
    }
    printed.push(row)
  }
  const before = new Set(printed.map(({ step }) => step))
  let steps = 0
  for await (const read of events) {
    if (!isKnown(read)) {
      yield read
      continue
    }
    const { event, where } = read
    switch (event.event) {
      case 'run_start':
        yield withMore(read, { steps_include: withoutEvaluations(event.steps_include) })
        break
      case 'steps': {
        const first = steps
        const holds = Array.from({ length: stepsOf(event) }, (_, index) =>
          before.has(first + index) ? 'evaluation' : null,
        )
        steps += holds.length
        yield withMore(read, { holds })
        break
      }
      case 'evaluation': {
        const reason =
          'is an evaluation that the recorder saw itself. Leave metrics.patterns out of the experiment'
        yield { problem: problemAt(where, 'malformed', reason) }
        return
      }
      case 'run_end':
        for (const row of printed) yield evaluationOf(row, steps, section.samples_per_step)
        yield read
        break
      default:
        yield read
    }
  }
}

async function* withEvaluations(events: AsyncIterable<ReadEvent>): AsyncGenerator<ReadEvent> {
  let hasSteps = false
  let hasEvaluation = false
  for await (const read of events) {
    const kind = isKnown(read) ? read.event.event : null
    hasSteps ||= kind === 'steps'
    hasEvaluation ||= hasSteps && kind === 'evaluation'
    if (kind === 'run_end' && isKnown(read) && read.event.status === 'finished' && !hasEvaluation) {
      const reason =
        'has no evaluation after a step. Let the script evaluate at its end, call Recorder.evaluate there, or name metrics.patterns.evaluation'
      yield { problem: problemAt(NAME, 'malformed', reason) }
      return
    }
    yield read
  }
}

async function* printedEvaluations(
  source: Source,
  pattern: string,
  section: Section,
): AsyncGenerator<EvaluationRow | Extract<ReadEvent, { problem: unknown }>> {
  const evaluationsIn = evaluationLines(pattern, section)
  let isSeen = false
  for await (const { text, number } of boundedLines(source(PRINTED_FILE))) {
    const rows = evaluationsIn(stripVTControlCharacters(text), `${LOG_FILE} line ${number}`) ?? []
    for (const row of rows) {
      isSeen = true
      if (row.kind === 'problem') yield { problem: row.problem }
      else if (row.kind === 'evaluation') yield row
    }
  }
  if (!isSeen) yield { problem: problemAt(LOG_FILE, 'malformed', noMatch('evaluation', pattern, LOG_FILE)) }
}

function evaluationOf(row: EvaluationRow, steps: number, each: number | undefined): ReadEvent {
  const { where, characters, step, valLoss, metrics, notFinite } = row
  if (step < 0 || step > steps) {
    const reason = `is an evaluation after ${step} steps, but the recorder saw ${steps}. Look at metrics.evaluation_first_step`
    return { problem: problemAt(where, 'out-of-order', reason) }
  }
  const event = {
    event: 'evaluation',
    step,
    samples_seen: each === undefined ? undefined : step * each,
    val_loss: valLoss,
    metrics,
    not_finite: notFinite.length > 0 ? notFinite : undefined,
    // Its seconds lie in the step's.
  }
  return { where, event, characters }
}

function withoutEvaluations(included: unknown): unknown {
  return Array.isArray(included) ? included.filter((what) => what !== 'evaluation') : included
}

function isKnown(read: ReadEvent): read is Known {
  return !('problem' in read) && isMapping(read.event)
}

function withMore(read: Known, more: Readonly<Record<string, unknown>>): ReadEvent {
  return { ...read, event: { ...read.event, ...more } }
}

function stepsOf({ step_seconds: seconds }: Readonly<Record<string, unknown>>): number {
  return Array.isArray(seconds) ? seconds.length : 0
}
