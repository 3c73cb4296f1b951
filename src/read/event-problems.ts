// Finds impossible values in an event, and names their place in the source.
import { isMapping } from '../config/same-work/differences.ts'
import { sumOf } from '../statistics/averages.ts'
import { duration } from '../text/numbers.ts'
import { shortened } from '../text/wording.ts'
import type { EvaluationEvent, RunEndEvent, RunStart, StepsWindow } from './events.ts'

export interface MetricsProblem {
  readonly kind: 'absent' | 'empty' | 'truncated' | 'not-finite' | 'malformed' | 'out-of-order' | 'too-large'
  readonly message: string
}

export function problemAt(where: string, kind: MetricsProblem['kind'], reason: string): MetricsProblem {
  return { kind, message: `${where}: ${reason}` }
}

/** Ranks that each open the file write their lines twice, over each other or into one another. */
export const SEVERAL_WRITERS = 'check that only rank 0 writes the file'

/** The end that our Python package writes where it cannot measure a training; its reason says what to do. */
export function refusalProblem(event: unknown, where: string): MetricsProblem | null {
  if (!isMapping(event) || event.event !== 'run_end' || event.status !== 'not_measured') return null
  const reason = typeof event.reason === 'string' ? shortened(event.reason, MAX_REASON) : 'no reason given'
  return problemAt(where, 'malformed', `the recorder could not measure this training: ${reason}`)
}

const MAX_REASON = 400

/** `of` is what there has to be one entry for, such as "ranks": a maximum over ranks that leaves some out would pass where the missing one fails. */
export function lengthProblem(
  columns: Readonly<Record<string, readonly unknown[] | undefined>>,
  length: number,
  of: 'steps' | 'ranks',
  where: string,
): MetricsProblem | null {
  for (const [key, column] of Object.entries(columns)) {
    if (column && column.length !== length)
      return problemAt(
        where,
        'malformed',
        `${key} has ${column.length} entries, expected ${length}, one for each of the ${of}`,
      )
  }
  return null
}

/** Of the window, since a host that runs ahead of its GPU can wait longer for one batch than the GPU takes for that step. */
export function waitProblem(
  { data_wait_seconds: waits, step_seconds: seconds }: StepsWindow,
  where: string,
): MetricsProblem | null {
  if (!waits) return null
  const [waited, taken] = [sumOf(waits), sumOf(seconds)]
  if (waited <= 1.01 * taken + 0.001 * seconds.length) return null
  return problemAt(
    where,
    'malformed',
    `data_wait_seconds add up to ${duration(waited)}, but these ${seconds.length} steps took ${duration(taken)}. Include the wait of a step in its step_seconds`,
  )
}

/** Windows that do not tell leave the end free to count more. */
export function skippedProblem(
  { skipped_updates: skipped, attempted_updates: attempted }: RunEndEvent,
  inWindows: number,
  where: string,
): MetricsProblem | null {
  if (skipped > attempted)
    return problemAt(
      where,
      'malformed',
      `skipped_updates is ${skipped}, expected at most the ${attempted} of attempted_updates. Count a skipped update in both`,
    )
  return skipped < inWindows
    ? problemAt(
        where,
        'malformed',
        `skipped_updates is ${skipped}, but the steps events have ${inWindows}. Count the skipped updates of the whole run`,
      )
    : null
}

/** What an allocator gives out it has reserved, on each rank: a smaller peak would pass the gate on memory. */
export function memoryProblem(
  { peak_memory_allocated_bytes: allocated = [], peak_memory_reserved_bytes: reserved = [] }: RunEndEvent,
  where: string,
): MetricsProblem | null {
  const rank = reserved.findIndex((bytes, index) => bytes < (allocated[index] ?? 0))
  return rank === -1
    ? null
    : problemAt(
        where,
        'malformed',
        `peak_memory_reserved_bytes is ${reserved[rank]} on rank ${rank}, below its peak_memory_allocated_bytes of ${allocated[rank]}. Read both peaks at the end, for the same device and period`,
      )
}

/** A name that nothing stands under would compare nothing. */
export function workProblem(
  { work_keys: keys = [], effective = {} }: RunStart,
  where: string,
): MetricsProblem | null {
  const unknown = keys.find((key) => !Object.hasOwn(effective, key))
  return unknown === undefined
    ? null
    : problemAt(
        where,
        'malformed',
        `work_keys names ${JSON.stringify(shortened(unknown))}, which effective does not have. Name keys of effective`,
      )
}

/** A number is finite or it is not: what is both could pass a gate. */
export function contradictionProblem(
  { not_finite: names = [], metrics = {} }: EvaluationEvent,
  where: string,
): MetricsProblem | null {
  const both = names.find((name) => Object.hasOwn(metrics, name))
  return both === undefined
    ? null
    : problemAt(
        where,
        'malformed',
        `not_finite names ${JSON.stringify(shortened(both))}, but metrics has a number of it. Leave out one of them`,
      )
}
