// Finds launches whose speedup is unreliable: a baseline launch around them is missing, or the two are far apart.

import { MATTERS } from '../measure/steady-state.ts'
import type { RunSummary } from '../measure/summary.ts'
import { baselineOf, logSecondsPerSample } from './measurement.ts'
import { isConclusive, type LadderRecord } from './record.ts'

/** Finished launches between two baseline launches, during which the speed of the machine may have changed. */
export interface UnreliableStretch {
  /** Titles of what was launched in it. */
  readonly launched: readonly string[]
  /** Null where the one at the start does not count. */
  readonly before: RunSummary | null
  /** Null where the sitting ended before it, or it does not count. */
  readonly after: RunSummary | null
  /** Speedups over the baseline before alone, relative to those over both; 1 where there is no other. */
  readonly speedupRatioOverFirst: number
}

/** Speedups are over the mean of both, so half of their distance may be in a gain: no more than what matters. */
const MAX_DISTANCE = 2 * MATTERS

/** `baselines`: those of the sitting that count, in their order. */
export function unreliableStretches(
  record: LadderRecord,
  sitting: number,
  baselines: readonly RunSummary[],
): UnreliableStretch[] {
  const order = record.launches.map(({ launched }) => launched.outcome.run.id)
  const titles = new Map(record.trainings.map(({ hash, title }) => [hash, title]))
  const titlesBetween = (from: number, to: number) =>
    record.launches.slice(from + 1, to).flatMap((launch) => {
      const isShown = isConclusive(launch) && launch.launched.outcome.status === 'finished'
      const isOwn = launch.sitting === sitting && launch.training !== baselineOf(record)
      return isOwn && isShown ? (titles.get(launch.training) ?? []) : []
    })
  return [null, ...baselines].flatMap((before, index): UnreliableStretch[] => {
    const after = baselines[index] ?? null
    const end = after === null ? order.length : order.indexOf(after.runId)
    const launched = titlesBetween(before === null ? -1 : order.indexOf(before.runId), end)
    if (launched.length === 0 || (before === null && after === null)) return []
    if (before === null || after === null) return [{ launched, before, after, speedupRatioOverFirst: 1 }]
    const [first, second] = [logSecondsPerSample(before), logSecondsPerSample(after)]
    if (first === null || second === null || Math.abs(second - first) <= MAX_DISTANCE) return []
    return [{ launched, before, after, speedupRatioOverFirst: Math.exp((first - second) / 2) }]
  })
}
