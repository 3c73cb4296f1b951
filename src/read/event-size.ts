// How large events may be, since all runs of an experiment are in memory at once, and a source may come from somebody else.
import { isMapping } from '../config/same-work/differences.ts'
import { type MetricsProblem, problemAt } from './event-problems.ts'

/** A step can have 4 bytes in a file and 32 in memory. */
export const MAX_STEPS = 1_000_000

/** Evaluations, configs and read-backs stay in memory for every run of an experiment. */
const MAX_OTHER_CHARACTERS = 8 * 1024 * 1024

/** zod collects an error for every entry that is wrong: neither an event nor a part of a window may have millions. */
const MAX_EVENT_CHARACTERS = 1024 * 1024
export const STEPS_AT_ONCE = 10_000

/** In addition to `step_seconds`. */
export const STEP_COLUMNS = [
  'samples',
  'train_loss',
  'learning_rate',
  'gradient_norm',
  'data_wait_seconds',
  'holds',
] as const

/** Of another event than steps; `together`: of all of these so far. */
export function otherEventProblem(
  characters: number,
  together: number,
  where: string,
): MetricsProblem | null {
  const tooLarge = (reason: string) => problemAt(where, 'too-large', reason)
  if (characters > MAX_EVENT_CHARACTERS)
    return tooLarge(
      `has ${characters} characters, expected at most ${MAX_EVENT_CHARACTERS} in an event other than steps. Leave out what no gate uses`,
    )
  if (together > MAX_OTHER_CHARACTERS)
    return tooLarge(
      `events other than steps take more than ${MAX_OTHER_CHARACTERS} characters; write fewer of them`,
    )
  return null
}

/** Null for another event than steps; of what is no list the schema tells. */
export function rawColumns(json: unknown): Readonly<Record<string, readonly unknown[]>> | null {
  if (!isMapping(json) || json.event !== 'steps') return null
  const lists = ['step_seconds', ...STEP_COLUMNS].flatMap((key) => {
    const column = json[key]
    return Array.isArray(column) ? [[key, column as readonly unknown[]] as const] : []
  })
  return Object.fromEntries(lists)
}

/** Some steps of a window, as a window of their own. */
export function partOf(
  json: unknown,
  columns: Readonly<Record<string, readonly unknown[]>>,
  from: number,
): unknown {
  const { first_step: first, skipped_updates: skipped, ...event } = isMapping(json) ? json : {}
  const part = Object.entries(columns).map(([key, column]) => [key, column.slice(from, from + STEPS_AT_ONCE)])
  const window = { ...event, first_step: typeof first === 'number' ? first + from : first }
  return {
    ...window,
    ...(from === 0 ? { skipped_updates: skipped } : {}),
    ...Object.fromEntries(part),
  }
}
