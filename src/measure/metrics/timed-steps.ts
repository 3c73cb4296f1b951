// The steps of a run that count as timing: whole periods after the warm-up.

import type { CompleteMetrics } from '../../read/metrics-record.ts'
import { medianOf, sumOf } from '../../statistics/averages.ts'

/** First and last (exclusive), counted from 0. */
export type TimedSteps = readonly [first: number, end: number]

/** A part period at the end is left out. */
export function timedSteps(steps: number, warmUp: number, period: number): TimedSteps {
  const first = Math.min(warmUp, steps)
  return [first, first + Math.floor((steps - first) / period) * period]
}

/** Of the timed steps: the periods without a step that holds more than itself, one after the other. */
export function countedPeriods(
  { start, steps: { held } }: CompleteMetrics,
  [first, end]: TimedSteps,
): TimedSteps[] {
  const period = start.period_steps ?? 1
  const left = new Set(held.map(({ index }) => Math.floor((index - first) / period)))
  const periods: TimedSteps[] = []
  for (let from = first; from < end; from += period)
    if (!left.has((from - first) / period)) periods.push([from, from + period])
  return periods
}

/** From the middle on, in whole periods. */
export function laterHalf([first, end]: TimedSteps, period: number): TimedSteps {
  return [first + Math.floor((end - first) / period / 2) * period, end]
}

/** Of a column, over the steps that count. */
function counted(column: readonly number[], metrics: CompleteMetrics, timed: TimedSteps): number[] {
  if (metrics.steps.held.length === 0) return column.slice(...timed)
  return countedPeriods(metrics, timed).flatMap((period) => column.slice(...period))
}

/** Null where no step is timed. */
export function timePerSample(metrics: CompleteMetrics, timed: TimedSteps): number | null {
  const { seconds: all, samples: counts } = metrics.steps
  const [seconds, samples] = [sumOf(counted(all, metrics, timed)), sumOf(counted(counts, metrics, timed))]
  return samples > 0 && Number.isFinite(seconds) ? seconds / samples : null
}

/** Null where the trainer does not report it, or no step is timed. */
export function dataWaitShare(metrics: CompleteMetrics, timed: TimedSteps): number | null {
  const { steps } = metrics
  const seconds = sumOf(counted(steps.seconds, metrics, timed))
  const isReported = steps.dataWaitSeconds.length === steps.seconds.length
  return isReported && seconds > 0 ? sumOf(counted(steps.dataWaitSeconds, metrics, timed)) / seconds : null
}

/** Of all steps where none is timed; 0 without any. */
export function medianStep(metrics: CompleteMetrics, timed: TimedSteps): number {
  const { seconds } = metrics.steps
  const some = [counted(seconds, metrics, timed), seconds].find(({ length }) => length > 0)
  return some === undefined ? 0 : medianOf(some)
}
