// The events of a run, from whatever reader -> its record; what is wrong is said with its place, and what came before is kept.
import { basename } from 'node:path'
import { explain, type Issue } from '../config/parse/explain.ts'
import { isMapping } from '../config/same-work/differences.ts'
import {
  contradictionProblem,
  lengthProblem,
  type MetricsProblem,
  memoryProblem,
  problemAt,
  SEVERAL_WRITERS,
  skippedProblem,
  waitProblem,
  workProblem,
} from './event-problems.ts'
import {
  MAX_STEPS,
  otherEventProblem,
  partOf,
  rawColumns,
  STEP_COLUMNS,
  STEPS_AT_ONCE,
} from './event-size.ts'
import {
  type Evaluation,
  type EvaluationEvent,
  type Held,
  type MetricsEvent,
  metricsEvent,
  type RunEnd,
  type RunEndEvent,
  type RunStart,
  type StepsWindow,
} from './events.ts'
import { ALL_REPORTED, type Facts, factsOfEvents } from './facts.ts'
import type { ReadEvent, Reader, Source } from './reader.ts'

/** Per-step columns of all windows; index 0 is step 1. */
export interface StepColumns {
  readonly seconds: number[]
  /** 1 of each where they are unknown. */
  readonly samples: number[]
  readonly trainLoss: number[]
  readonly dataWaitSeconds: number[]
  /** Steps whose seconds contain more than the step, in their order. */
  readonly held: readonly HeldStep[]
}

export interface HeldStep {
  /** From 0. */
  readonly index: number
  readonly what: Held
}

export interface Phase {
  readonly name: 'import' | 'data' | 'build' | 'compile' | 'capture' | 'checkpoint'
  readonly seconds: number
  readonly step: number | null
}

export interface MetricsRecord {
  /** Name of the reader. */
  readonly reader: string
  /** Where each fact of this run comes from. */
  readonly facts: Facts
  readonly start: RunStart | null
  readonly steps: StepColumns
  readonly evaluations: readonly Evaluation[]
  readonly phases: readonly Phase[]
  readonly end: RunEnd | null
  /** null only for a source that is whole: from run_start to run_end without a gap. */
  readonly problem: MetricsProblem | null
}

export type CompleteMetrics = MetricsRecord & {
  readonly start: RunStart
  readonly end: RunEnd
  readonly problem: null
}

export function isComplete(metrics: MetricsRecord): metrics is CompleteMetrics {
  return metrics.problem === null && metrics.start !== null && metrics.end !== null
}

interface Draft extends Omit<MetricsRecord, 'problem' | 'start' | 'end' | 'facts' | 'steps' | 'evaluations'> {
  /** As the reader has them. */
  readerFacts: Facts
  steps: StepColumns & { readonly held: HeldStep[] }
  start: RunStart | null
  /** Null before the first window. */
  hasSamples: boolean | null
  evaluations: EvaluationEvent[]
  phases: Phase[]
  end: RunEndEvent | null
  /** Of the source, as problems name it. */
  name: string
  otherCharacters: number
  /** Of the windows that tell. */
  skippedUpdates: number
}

/** Reads events until the first problem. */
export async function readMetrics(reader: Reader, source: Source): Promise<MetricsRecord> {
  const draft = emptyDraft(reader.name, sourceName(reader), reader.facts)
  for await (const read of reader.read(source)) {
    const problem = 'problem' in read ? read.problem : addEvent(read, draft)
    if (problem) return recordOf(draft, problem)
  }
  return recordOf(draft, problemsAtEnd(draft)[0]?.problem ?? null)
}

export function metricsProblem(kind: MetricsProblem['kind'], message: string): MetricsRecord {
  return recordOf(emptyDraft('', '', ALL_REPORTED), { kind, message })
}

function sourceName({ files, title }: Reader): string {
  return title ?? files.map((file) => basename(file)).join(', ')
}

function recordOf(draft: Draft, problem: MetricsProblem | null): MetricsRecord {
  const { reader, start, steps, phases } = draft
  return { reader, facts: factsIn(draft), start, steps, phases, problem, ...withSamples(draft) }
}

/** Where an event does not count them, those of its steps. */
function withSamples({ steps, evaluations, end }: Draft): Pick<MetricsRecord, 'evaluations' | 'end'> {
  const seen = [0]
  for (const samples of steps.samples) seen.push((seen.at(-1) ?? 0) + samples)
  const all = seen.at(-1) ?? 0
  return {
    evaluations: evaluations.map((one) => ({
      ...one,
      samples_seen: one.samples_seen ?? seen[one.step] ?? all,
    })),
    end: end && { ...end, samples: end.samples ?? all },
  }
}

/** A trainer of the contract may leave out what it does not know; then nobody knows it. */
function factsIn({ readerFacts, start, end, hasSamples }: Draft): Facts {
  return factsOfEvents(readerFacts, start?.facts ?? {}, {
    samples: hasSamples === false,
    held_out_set: start?.data_hash === undefined || start.evaluation_samples === undefined,
    training_data: start?.data_hash === undefined,
    config: start?.config === undefined,
    seed: start?.seed === undefined,
    world_size: start?.world_size === undefined,
    parameters: start?.parameter_count === undefined,
    memory: end?.peak_memory_reserved_bytes === undefined && end?.peak_memory_allocated_bytes === undefined,
    effective_settings: Object.keys(start?.effective ?? {}).length === 0,
  })
}

function emptyDraft(reader: string, name: string, readerFacts: Facts): Draft {
  return {
    reader,
    readerFacts,
    hasSamples: null,
    start: null,
    steps: { seconds: [], samples: [], trainLoss: [], dataWaitSeconds: [], held: [] },
    evaluations: [],
    phases: [],
    end: null,
    name,
    otherCharacters: 0,
    skippedUpdates: 0,
  }
}

function addEvent(
  { event, where, characters }: Extract<ReadEvent, { where: string }>,
  draft: Draft,
): MetricsProblem | null {
  const columns = rawColumns(event)
  if (columns === null) {
    draft.otherCharacters += characters
    return otherEventProblem(event, characters, draft.otherCharacters, where) ?? addPart(event, draft, where)
  }
  const length = Math.max(0, ...Object.values(columns).map((column) => column.length))
  if (draft.steps.seconds.length + length > MAX_STEPS) {
    return problemAt(
      where,
      'too-large',
      `the run has ${draft.steps.seconds.length + length} steps so far, expected at most ${MAX_STEPS}. Measure a shorter training`,
    )
  }
  if (length <= STEPS_AT_ONCE) return addPart(event, draft, where)
  const uneven = lengthProblem(columns, columns.step_seconds?.length ?? 0, 'steps', where)
  if (uneven) return uneven
  for (let from = 0; from < length; from += STEPS_AT_ONCE) {
    const problem = addPart(partOf(event, columns, from), draft, where, event, from)
    if (problem) return problem
  }
  return null
}

/** `part`: of the event; of a window, its steps after the first `from`. */
function addPart(
  part: unknown,
  draft: Draft,
  where: string,
  event: unknown = part,
  from = 0,
): MetricsProblem | null {
  const parsed = metricsEvent.safeParse(part)
  if (parsed.success) return add(parsed.data, draft, where)
  const [issue] = parsed.error.issues
  if (!issue) return problemAt(where, 'malformed', 'not an event of the contract')
  const path = issue.path.map((key) => (typeof key === 'number' ? key + from : key))
  return schemaProblem({ ...issue, path }, event, where)
}

/** Applies one event; answers with the reason when it cannot follow what came before. */
function add(event: MetricsEvent, draft: Draft, where: string): MetricsProblem | null {
  const outOfOrder = (reason: string) => problemAt(where, 'out-of-order', reason)
  if (draft.end) return outOfOrder(`${event.event} after run_end`)
  if (event.event === 'run_start') {
    if (draft.start)
      return outOfOrder(`a second run_start. Write a fresh ${draft.name} for each run, and only from rank 0`)
    draft.start = event
    return ranksProblem({ device_names: event.device_names }, event, where) ?? workProblem(event, where)
  }
  if (!draft.start) return outOfOrder(`${event.event} before run_start`)
  switch (event.event) {
    case 'steps':
      return addSteps(event, draft, where)
    case 'evaluation':
      draft.evaluations.push(event)
      return contradictionProblem(event, where)
    case 'phase':
      draft.phases.push({ name: event.name, seconds: event.seconds, step: event.step ?? null })
      return null
    case 'run_end':
      draft.end = event
      return (
        unknownSamplesProblem(event, draft, where) ??
        skippedProblem(event, draft.skippedUpdates, where) ??
        ranksProblem(rankColumns(event), draft.start, where) ??
        memoryProblem(event, where)
      )
    case 'epoch':
      return null
  }
}

function addSteps(event: StepsWindow, draft: Draft, where: string): MetricsProblem | null {
  const { steps } = draft
  const expected = steps.seconds.length + 1
  if (event.first_step !== expected) {
    const cause = event.first_step < expected ? `; ${SEVERAL_WRITERS}` : ''
    return problemAt(where, 'out-of-order', `first_step is ${event.first_step}, expected ${expected}${cause}`)
  }
  const columns = Object.fromEntries(STEP_COLUMNS.map((key) => [key, event[key]]))
  const uneven = lengthProblem(columns, event.step_seconds.length, 'steps', where)
  if (uneven) return uneven
  const wait = waitProblem(event, where)
  if (wait) return wait
  const hasSamples = event.samples !== undefined
  if (draft.hasSamples !== null && draft.hasSamples !== hasSamples)
    return problemAt(
      where,
      'malformed',
      'some steps events have samples and some have none. Give them in all',
    )
  draft.hasSamples = hasSamples
  draft.skippedUpdates += event.skipped_updates ?? 0
  for (const [index, what] of (event.holds ?? []).entries())
    if (what !== null) steps.held.push({ index: steps.seconds.length + index, what })
  append(steps.seconds, event.step_seconds)
  append(steps.samples, event.samples ?? event.step_seconds.map(() => 1))
  append(steps.trainLoss, event.train_loss ?? [])
  append(steps.dataWaitSeconds, event.data_wait_seconds ?? [])
  return null
}

/** Counts that are no samples would be held against those that are. */
function unknownSamplesProblem(
  { samples }: RunEndEvent,
  { hasSamples, evaluations, steps }: Draft,
  where: string,
): MetricsProblem | null {
  if (hasSamples !== false) return null
  const isStep = ({ step, samples_seen: seen = step }: EvaluationEvent) => step === seen
  if ((samples ?? steps.samples.length) === steps.samples.length && evaluations.every(isStep)) return null
  return problemAt(
    where,
    'malformed',
    'run_end or an evaluation counts samples, but the steps events have none. Give the samples of each step',
  )
}

/** Of ranks whose number is unknown, nobody can tell whether one is missing. */
function ranksProblem(
  columns: Readonly<Record<string, readonly unknown[] | undefined>>,
  { world_size: ranks }: RunStart,
  where: string,
): MetricsProblem | null {
  return ranks === undefined ? null : lengthProblem(columns, ranks, 'ranks', where)
}

function rankColumns(end: RunEndEvent) {
  const { peak_memory_allocated_bytes, peak_memory_reserved_bytes, allocation_retries } = end
  return { peak_memory_allocated_bytes, peak_memory_reserved_bytes, allocation_retries }
}

/** push(...) would overflow the stack on a window of some hundred thousand steps. */
function append(column: number[], more: readonly number[]): void {
  for (const value of more) column.push(value)
}

interface Lack {
  readonly event: MetricsEvent['event']
  readonly problem: MetricsProblem
}

/** The first follows from nothing else. */
function problemsAtEnd({ name, start, end, steps, evaluations, readerFacts }: Draft): Lack[] {
  const lack = (event: Lack['event'], kind: MetricsProblem['kind'], what: string): Lack[] => [
    { event, problem: { kind, message: `${name} ${what}` } },
  ]
  if (!start) return lack('run_start', 'empty', 'has no events')
  const needsSteps = readerFacts.step_seconds !== 'unknown'
  return [
    ...(end ? [] : lack('run_end', 'truncated', 'ends before run_end')),
    ...(needsSteps && steps.seconds.length === 0 ? lack('steps', 'malformed', 'has no steps event') : []),
    ...(evaluations.length === 0 ? lack('evaluation', 'malformed', 'has no evaluation event') : []),
  ]
}

/** A loss that is none is what a training writes that diverged. */
function schemaProblem(issue: Issue, event: unknown, where: string): MetricsProblem {
  const [key] = issue.path
  const hint =
    (key === 'val_loss' || key === 'train_loss') && isNoNumber(valueAt(event, issue.path))
      ? '; check whether the training diverged'
      : ''
  return problemAt(where, 'malformed', `${explain(issue, event, 'event')}${hint}`)
}

function isNoNumber(value: unknown): boolean {
  return value === null || (typeof value === 'string' && /^[+-]?(nan|inf(inity)?)$/i.test(value.trim()))
}

function valueAt(event: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    event,
  )
}

/** Of a file that somebody looks at to mend it: what it holds, and all that is wrong with it up to `most`. */
export async function checkMetrics(
  reader: Reader,
  source: Source,
  most: number,
): Promise<{ readonly record: MetricsRecord; readonly problems: readonly MetricsProblem[] }> {
  const draft = emptyDraft(reader.name, sourceName(reader), reader.facts)
  const problems: MetricsProblem[] = []
  /** What was there, if only with a problem. */
  const seen = new Set<unknown>()
  let endsWithProblem = false
  for await (const read of reader.read(source)) {
    const found = 'problem' in read ? [read.problem] : problemsOf(read, draft)
    if ('event' in read) {
      const kind = isMapping(read.event) ? read.event.event : undefined
      seen.add(kind)
      if (found.length > 0) goOnAfter(read.event, draft)
    } else {
      // It was meant as some event; only the last one as the end.
      for (const kind of ['run_start', 'steps', 'evaluation']) seen.add(kind)
    }
    endsWithProblem = 'problem' in read
    problems.push(...found)
    if (problems.length >= most) break
  }
  if (endsWithProblem) seen.add('run_end')
  if (problems.length < most)
    problems.push(...problemsAtEnd(draft).flatMap(({ event, problem }) => (seen.has(event) ? [] : [problem])))
  return { record: recordOf(draft, problems[0] ?? null), problems: problems.slice(0, most) }
}

/** All that the schema says of one event, which may be much for a column. */
const MOST_OF_EVENT = 5

function problemsOf(read: Extract<ReadEvent, { where: string }>, draft: Draft): MetricsProblem[] {
  const { event, where } = read
  const length = Math.max(0, ...Object.values(rawColumns(event) ?? {}).map((column) => column.length))
  if (read.characters <= MAX_CHECKED_CHARACTERS && length <= STEPS_AT_ONCE) {
    const parsed = metricsEvent.safeParse(event)
    if (!parsed.success)
      return parsed.error.issues.slice(0, MOST_OF_EVENT).map((issue) => schemaProblem(issue, event, where))
  }
  const problem = addEvent(read, draft)
  return problem ? [problem] : []
}

/** A larger event is judged by its size first. */
const MAX_CHECKED_CHARACTERS = 1024 * 1024

/** As if the event had been right, so that what follows is not held against it. */
function goOnAfter(event: unknown, draft: Draft): void {
  draft.start ??= { event: 'run_start', schema_version: 1 }
  if (!isMapping(event)) return
  const { first_step: first, step_seconds: seconds } = event
  if (event.event !== 'steps' || typeof first !== 'number' || !Array.isArray(seconds)) return
  const last = Math.min(first + seconds.length - 1, MAX_STEPS)
  while (draft.steps.seconds.length < last) {
    draft.steps.seconds.push(0)
    draft.steps.samples.push(draft.steps.samples.at(-1) ?? 1)
  }
}
