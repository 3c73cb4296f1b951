// Finds launches whose bracket, the baseline launches before and after them, is incomplete or drifted apart.

import { MATTERS } from '../measure/steady-state.ts'
import type { RunSummary } from '../measure/summary.ts'
import { baselineOf, logTimeOf } from './measurement.ts'
import { isConclusive, type LadderRecord } from './record.ts'

/** Finished launches whose speedups a change of the machine may have shifted. */
export interface WeakBracket {
  /** Titles of what was launched in it. */
  readonly launched: readonly string[]
  /** Null where the one at the start does not count. */
  readonly before: RunSummary | null
  /** Null where the sitting ended before it, or it does not count. */
  readonly after: RunSummary | null
  /** Speedups over the baseline before alone, relative to those over both; 1 where there is no other. */
  readonly overFirst: number
}

/** Speedups are over the mean of both, so half of their distance may be in a gain: no more than what matters. */
const MAX_DISTANCE = 2 * MATTERS

/** `baselines`: those of the sitting that count, in their order. */
export function weakBrackets(
  record: LadderRecord,
  sitting: number,
  baselines: readonly RunSummary[],
): WeakBracket[] {
  const order = record.launches.map(({ launched }) => launched.outcome.run.id)
  const titles = new Map(record.trainings.map(({ hash, title }) => [hash, title]))
  const titlesBetween = (from: number, to: number) =>
    record.launches.slice(from + 1, to).flatMap((launch) => {
      const isShown = isConclusive(launch) && launch.launched.outcome.status === 'finished'
      const isOwn = launch.sitting === sitting && launch.training !== baselineOf(record)
      return isOwn && isShown ? (titles.get(launch.training) ?? []) : []
    })
  return [null, ...baselines].flatMap((before, index): WeakBracket[] => {
    const after = baselines[index] ?? null
    const end = after === null ? order.length : order.indexOf(after.runId)
    const launched = titlesBetween(before === null ? -1 : order.indexOf(before.runId), end)
    if (launched.length === 0 || (before === null && after === null)) return []
    if (before === null || after === null) return [{ launched, before, after, overFirst: 1 }]
    const [first, second] = [logTimeOf(before), logTimeOf(after)]
    if (first === null || second === null || Math.abs(second - first) <= MAX_DISTANCE) return []
    return [{ launched, before, after, overFirst: Math.exp((first - second) / 2) }]
  })
}
