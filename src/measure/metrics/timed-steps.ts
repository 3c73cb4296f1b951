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

/** Null where no step is timed. */
export function timePerSample({ steps }: CompleteMetrics, timed: TimedSteps): number | null {
  const [seconds, samples] = [sumOf(steps.seconds.slice(...timed)), sumOf(steps.samples.slice(...timed))]
  return samples > 0 && Number.isFinite(seconds) ? seconds / samples : null
}

/** Null where the trainer does not report it, or no step is timed. */
export function dataWaitShare({ steps }: CompleteMetrics, timed: TimedSteps): number | null {
  const seconds = sumOf(steps.seconds.slice(...timed))
  const isReported = steps.dataWaitSeconds.length === steps.seconds.length
  return isReported && seconds > 0 ? sumOf(steps.dataWaitSeconds.slice(...timed)) / seconds : null
}

/** Of all steps where none is timed; 0 without any. */
export function medianStep({ steps: { seconds } }: CompleteMetrics, timed: TimedSteps): number {
  const counted = [seconds.slice(...timed), seconds].find(({ length }) => length > 0)
  return counted === undefined ? 0 : medianOf(counted)
}
