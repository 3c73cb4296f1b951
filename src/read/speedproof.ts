// The lines of metrics.jsonl -> one record of a run; whatever is wrong is said with its line, and what came before is kept.

import { explain } from '../config/parse/explain.ts'
import { isMapping } from '../config/same-work/differences.ts'
import {
  lengthProblem,
  type MetricsProblem,
  memoryProblem,
  problemAt,
  skippedProblem,
  waitProblem,
} from './event-problems.ts'
import {
  type Evaluation,
  type MetricsEvent,
  metricsEvent,
  type RunEnd,
  type RunStart,
  type StepsWindow,
} from './events.ts'
import { parseJsonLine, withoutByteOrderMark } from './json-line.ts'

/** Per-step columns of all windows; index 0 is step 1. */
export interface StepColumns {
  readonly seconds: number[]
  readonly samples: number[]
  readonly trainLoss: number[]
  readonly dataWaitSeconds: number[]
}

export interface Phase {
  readonly name: 'import' | 'data' | 'build' | 'compile' | 'capture' | 'checkpoint'
  readonly seconds: number
  readonly step: number | null
}

export interface MetricsRecord {
  readonly start: RunStart | null
  readonly steps: StepColumns
  readonly evaluations: readonly Evaluation[]
  readonly phases: readonly Phase[]
  readonly end: RunEnd | null
  /** null only for a file that is whole: from run_start to run_end without a gap. */
  readonly problem: MetricsProblem | null
}

/** At 100 bytes a step this is 0.6 million steps, and a gated run has thousands. */
export const MAX_METRICS_BYTES = 64 * 1024 * 1024

/** A step can have 4 bytes in the file and 32 in memory, and all runs of an experiment are judged at once. */
export const MAX_STEPS = 1_000_000

/** Ranks that each open the file write their lines twice, over each other or into one another. */
const SEVERAL_WRITERS = 'do ranks other than 0 write the file too?'

const LINES = {
  missing: 'did the training diverge? A number that may be missing is left out',
  remedy: 'write events alone into the file, and from rank 0 alone',
  cause: `cut off, or ${SEVERAL_WRITERS}`,
}

/** Evaluations, configs and read-backs stay in memory for every run of an experiment. */
const MAX_OTHER_CHARACTERS = 8 * 1024 * 1024

/** zod collects an error for every entry that is wrong: neither an event nor a part of a window may have millions. */
const MAX_EVENT_CHARACTERS = 1024 * 1024

/** Configs are compared by recursion. */
const MAX_DEPTH = 100
const STEPS_AT_ONCE = 10_000

/** Beside `step_seconds`. */
const STEP_COLUMNS = ['samples', 'train_loss', 'learning_rate', 'gradient_norm', 'data_wait_seconds'] as const

interface Draft extends Omit<MetricsRecord, 'problem' | 'start' | 'end'> {
  start: RunStart | null
  evaluations: Evaluation[]
  phases: Phase[]
  end: RunEnd | null
  otherCharacters: number
  /** Of the windows that tell. */
  skippedUpdates: number
}

/** Reads lines until the first problem. `lines` gives every line without its newline; the last may be unterminated. */
export async function readMetrics(lines: AsyncIterable<string> | Iterable<string>): Promise<MetricsRecord> {
  const draft = emptyDraft()
  let number = 0
  for await (const line of lines) {
    number += 1
    if (line.trim() === '') continue
    const problem = readLine(number === 1 ? withoutByteOrderMark(line) : line, number, draft)
    if (problem) return recordOf(draft, problem)
  }
  return recordOf(draft, problemAtEnd(draft))
}

export function metricsProblem(kind: MetricsProblem['kind'], message: string): MetricsRecord {
  return recordOf(emptyDraft(), { kind, message })
}

function recordOf(
  { otherCharacters: _, skippedUpdates: __, ...draft }: Draft,
  problem: MetricsProblem | null,
): MetricsRecord {
  return { ...draft, problem }
}

function emptyDraft(): Draft {
  return {
    start: null,
    steps: { seconds: [], samples: [], trainLoss: [], dataWaitSeconds: [] },
    evaluations: [],
    phases: [],
    end: null,
    otherCharacters: 0,
    skippedUpdates: 0,
  }
}

function readLine(line: string, number: number, draft: Draft): MetricsProblem | null {
  const where = `metrics.jsonl line ${number}`
  const read = parseJsonLine(line, LINES)
  if (read.status !== 'parsed') return problemAt(where, read.status, read.reason)
  const { json } = read
  const columns = rawColumns(json)
  if (columns === null) {
    draft.otherCharacters += line.length
    const problem =
      sizeProblem(line.length, draft.otherCharacters, where) ??
      (isNestedDeeper(json, MAX_DEPTH)
        ? problemAt(
            where,
            'too-large',
            `nests lists or mappings more than ${MAX_DEPTH} deep; leave out what nobody judges`,
          )
        : null)
    return problem ?? readEvent(json, draft, where)
  }
  const length = Math.max(0, ...Object.values(columns).map((column) => column.length))
  if (draft.steps.seconds.length + length > MAX_STEPS) {
    return problemAt(
      where,
      'too-large',
      `the run has ${draft.steps.seconds.length + length} steps up to here, at most ${MAX_STEPS} are read; measure a shorter training`,
    )
  }
  if (length <= STEPS_AT_ONCE) return readEvent(json, draft, where)
  const uneven = lengthProblem(columns, columns.step_seconds?.length ?? 0, 'steps', where)
  if (uneven) return uneven
  for (let from = 0; from < length; from += STEPS_AT_ONCE) {
    const problem = readEvent(partOf(json, columns, from), draft, where, json, from)
    if (problem) return problem
  }
  return null
}

/** `part`: of the event; of a window, its steps after the first `from`. */
function readEvent(
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
  return problemAt(where, 'malformed', explain({ ...issue, path }, event, 'event'))
}

/** Level by level, since recursion is what a deep one would break. */
function isNestedDeeper(value: unknown, most: number): boolean {
  const isNest = (one: unknown): one is object => typeof one === 'object' && one !== null
  let level = [value].filter(isNest)
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > most) return true
    level = level.flatMap((one) => Object.values(one).filter(isNest))
  }
  return false
}

function sizeProblem(characters: number, together: number, where: string): MetricsProblem | null {
  if (characters > MAX_EVENT_CHARACTERS)
    return problemAt(
      where,
      'too-large',
      `has ${characters} characters, at most ${MAX_EVENT_CHARACTERS} of an event other than steps are read; leave out what nobody judges`,
    )
  return together > MAX_OTHER_CHARACTERS
    ? problemAt(
        where,
        'too-large',
        `events other than steps take more than ${MAX_OTHER_CHARACTERS} characters; write fewer of them`,
      )
    : null
}

/** Null for another event than steps; of what is no list the schema tells. */
function rawColumns(json: unknown): Readonly<Record<string, readonly unknown[]>> | null {
  if (!isMapping(json) || json.event !== 'steps') return null
  const lists = ['step_seconds', ...STEP_COLUMNS].flatMap((key) => {
    const column = json[key]
    return Array.isArray(column) ? [[key, column as readonly unknown[]] as const] : []
  })
  return Object.fromEntries(lists)
}

/** Some steps of a window, as a window of their own. */
function partOf(json: unknown, columns: Readonly<Record<string, readonly unknown[]>>, from: number): unknown {
  const { first_step: first, skipped_updates: skipped, ...event } = isMapping(json) ? json : {}
  const part = Object.entries(columns).map(([key, column]) => [key, column.slice(from, from + STEPS_AT_ONCE)])
  const window = { ...event, first_step: typeof first === 'number' ? first + from : first }
  return {
    ...window,
    ...(from === 0 ? { skipped_updates: skipped } : {}),
    ...Object.fromEntries(part),
  }
}

/** Applies one event; answers with the reason when it cannot follow what came before. */
function add(event: MetricsEvent, draft: Draft, where: string): MetricsProblem | null {
  const outOfOrder = (reason: string) => problemAt(where, 'out-of-order', reason)
  if (draft.end) return outOfOrder(`${event.event} after run_end`)
  if (event.event === 'run_start') {
    if (draft.start)
      return outOfOrder(
        'a second run_start; metrics.jsonl must be fresh for each run, and written by rank 0 alone',
      )
    draft.start = event
    return lengthProblem({ device_names: event.device_names }, event.world_size, 'ranks', where)
  }
  if (!draft.start) return outOfOrder(`${event.event} before run_start`)
  switch (event.event) {
    case 'steps':
      return addSteps(event, draft, where)
    case 'evaluation':
      draft.evaluations.push(event)
      return null
    case 'phase':
      draft.phases.push({ name: event.name, seconds: event.seconds, step: event.step ?? null })
      return null
    case 'run_end':
      draft.end = event
      return (
        skippedProblem(event, draft.skippedUpdates, where) ??
        lengthProblem(rankColumns(event), draft.start.world_size, 'ranks', where) ??
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
  draft.skippedUpdates += event.skipped_updates ?? 0
  append(steps.seconds, event.step_seconds)
  append(steps.samples, event.samples)
  append(steps.trainLoss, event.train_loss ?? [])
  append(steps.dataWaitSeconds, event.data_wait_seconds ?? [])
  return null
}

function rankColumns(end: RunEnd) {
  const { peak_memory_allocated_bytes, peak_memory_reserved_bytes, allocation_retries } = end
  return { peak_memory_allocated_bytes, peak_memory_reserved_bytes, allocation_retries }
}

/** push(...) would overflow the stack on a window of some hundred thousand steps. */
function append(column: number[], more: readonly number[]): void {
  for (const value of more) column.push(value)
}

function problemAtEnd(draft: Draft): MetricsProblem | null {
  if (!draft.start) return { kind: 'empty', message: 'metrics.jsonl holds no event' }
  if (!draft.end) return { kind: 'truncated', message: 'metrics.jsonl ends before run_end' }
  if (draft.steps.seconds.length === 0)
    return { kind: 'malformed', message: 'metrics.jsonl holds no steps event' }
  if (draft.evaluations.length === 0)
    return { kind: 'malformed', message: 'metrics.jsonl holds no evaluation event' }
  return null
}
