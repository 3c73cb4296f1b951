// The events of a run as they come: each is checked against those before it and added, or says what is wrong with it.
import { basename } from 'node:path'
import { explain, type Issue } from '../config/parse/explain.ts'
import {
  contradictionProblem,
  lengthProblem,
  type MetricsProblem,
  memoryProblem,
  problemAt,
  refusalProblem,
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
  type EvaluationEvent,
  LARGEST_NUMBER,
  type MetricsEvent,
  metricsEvent,
  type RunEndEvent,
  type RunStart,
  type StepsWindow,
} from './events.ts'
import type { Facts } from './facts.ts'
import type { HeldStep, MetricsRecord, Phase, StepColumns } from './metrics-record.ts'
import type { ReadEvent, Reader } from './reader.ts'

export interface Draft
  extends Omit<MetricsRecord, 'problem' | 'start' | 'end' | 'facts' | 'steps' | 'evaluations'> {
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

export function emptyDraft(reader: string, name: string, readerFacts: Facts): Draft {
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

export function addEvent(
  { event, where, characters }: Extract<ReadEvent, { where: string }>,
  draft: Draft,
): MetricsProblem | null {
  const columns = rawColumns(event)
  if (columns === null) {
    draft.otherCharacters += characters
    return otherEventProblem(characters, draft.otherCharacters, where) ?? addPart(event, draft, where)
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
  const refused = refusalProblem(part, where)
  if (refused) return refused
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

export function sourceName({ files, title }: Reader): string {
  return title ?? files.map((file) => basename(file)).join(', ')
}

export interface Lack {
  readonly event: MetricsEvent['event']
  readonly problem: MetricsProblem
}

/** The first follows from nothing else. */
export function problemsAtEnd({ name, start, end, steps, evaluations, readerFacts }: Draft): Lack[] {
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

/** What is no finite number where a training has diverged. */
const DIVERGING = ['val_loss', 'train_loss', 'metrics']

export function schemaProblem(issue: Issue, event: unknown, where: string): MetricsProblem {
  const [key] = issue.path
  const hint =
    typeof key === 'string' && DIVERGING.includes(key) && isNoNumber(valueAt(event, issue.path))
      ? '; check whether the training diverged'
      : ''
  return problemAt(where, 'malformed', `${explain(issue, event, 'event')}${hint}`)
}

function isNoNumber(value: unknown): boolean {
  if (typeof value === 'number') return !(Math.abs(value) <= LARGEST_NUMBER)
  return value === null || (typeof value === 'string' && /^[+-]?(nan|inf(inity)?)$/i.test(value.trim()))
}

function valueAt(event: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    event,
  )
}
