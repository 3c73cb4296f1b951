// Where the warm-up of an experiment ends, and how step times still change after it.

import type { CompleteMetrics } from '../read/metrics-record.ts'
import { meanOf, sumOf } from '../statistics/averages.ts'
import { studentTQuantile } from '../statistics/student-t.ts'
import { countedPeriods, timedSteps } from './metrics/timed-steps.ts'

/** Step times that differ by less are of no concern, however regular the rest is: 2%, as a logarithm. */
export const MATTERS = Math.log(1.02)

/** Fewer runs of a variant cannot tell a change that all share from the luck of one. */
export const MIN_RUNS_TO_TELL = 3

/** Places where a change point is looked for: every 40th of the timed steps, up to the middle. */
const SPLITS = 20

/** Together over all splits and both directions. */
const SIGNIFICANCE = 0.01

/** The larger of 10 steps and 10%, and never less than the last compile or capture. */
export function declaredWarmUp({ steps, phases }: CompleteMetrics): number {
  const setUpEnds = phases
    .filter(({ name }) => name === 'compile' || name === 'capture')
    .map(({ step }) => step ?? 0)
  // Math.max(...) would overflow the stack on some hundred thousand phases.
  const last = setUpEnds.reduce((most, step) => Math.max(most, step), 0)
  return Math.max(10, Math.ceil(steps.seconds.length / 10), last)
}

/** Samples that a run has seen after so many steps; beyond its end as if it went on like its last. */
export function samplesAfter({ steps: { samples } }: CompleteMetrics, count: number): number {
  return sumOf(samples.slice(0, count)) + Math.max(0, count - samples.length) * (samples.at(-1) ?? 0)
}

/** The first number of steps after which a run has seen so many samples; beyond its end likewise. */
export function stepsUntil({ steps: { samples } }: CompleteMetrics, wanted: number): number {
  let missing = wanted
  const within = samples.findIndex((count) => {
    if (missing <= 0) return true
    missing -= count
    return false
  })
  if (within >= 0) return within
  const last = samples.at(-1) ?? 0
  return samples.length + (missing > 0 && last > 0 ? Math.ceil(missing / last) : 0)
}

/**
 * Steps after which the runs of one variant have settled: at least `warmUp`, later at a change point that they share.
 * For each split, the mean log step time before it less the one after it is one number of a run; a shared change is
 * one whose t interval over the runs lies beyond 2%. Of several, the split that explains most squares is taken
 * (least squares: Bai, Econometric Theory 10, 1994). Steps within a run are not independent; runs are.
 */
export function settledAfter(runs: readonly CompleteMetrics[], warmUp: number): number {
  if (runs.length < MIN_RUNS_TO_TELL) return warmUp
  const profiles = runs.map((run) => ({ period: periodOf(run), logs: logProfile(run, warmUp) }))
  const t = studentTQuantile(1 - SIGNIFICANCE / (2 * SPLITS), runs.length - 1)
  let settled = { after: warmUp, squares: 0 }
  for (let split = 1; split <= SPLITS; split += 1) {
    const share = split / (2 * SPLITS)
    const shifts = profiles.map(({ logs }) => shiftAt(logs, Math.floor(share * logs.length)))
    const shift = sharedShift(shifts, t)
    const squares = share * (1 - share) * shift ** 2
    if (squares <= settled.squares) continue
    const ends = profiles.map(({ logs, period }) => warmUp + Math.floor(share * logs.length) * period)
    // More than half is no warm-up: then the trend that is left tells whether the runs are steady.
    if (runs.some(({ steps }, run) => 2 * (ends[run] ?? 0) > steps.seconds.length)) continue
    settled = { after: Math.max(...ends), squares }
  }
  return settled.after
}

/** Mean shift over the runs if its whole interval lies beyond 2%, else 0. */
function sharedShift(shifts: readonly number[], t: number): number {
  const mean = meanOf(shifts)
  const variance = shifts.reduce((total, shift) => total + (shift - mean) ** 2, 0) / (shifts.length - 1)
  return Math.abs(mean) - t * Math.sqrt(variance / shifts.length) > MATTERS ? mean : 0
}

function shiftAt(logs: readonly number[], split: number): number {
  return split === 0 ? 0 : meanOf(logs.slice(0, split)) - meanOf(logs.slice(split))
}

/**
 * Change of ln(seconds per sample) from the first to the last timed period along the least-squares line: 0.02 is
 * 2% slower at the end. Null with fewer than 3 periods, or where no line can be drawn.
 */
export function logTrend(run: CompleteMetrics, warmUp: number): number | null {
  const logs = logProfile(run, warmUp)
  if (logs.length < 3) return null
  const middle = (logs.length - 1) / 2
  const slope =
    logs.reduce((total, log, index) => total + (index - middle) * log, 0) /
    logs.reduce((total, _, index) => total + (index - middle) ** 2, 0)
  return Number.isFinite(slope) ? slope * (logs.length - 1) : null
}

/** Few and long, since neighbouring steps go alike: 36 steps each in the 180 that a launch of 200 times. */
export const SCATTER_BATCHES = 5

/**
 * Standard error of the mean ln(seconds per sample) of one run by the scatter within it, from the means of 5 batches.
 * What the whole run is off by is not in it. Null with fewer than 2 timed periods a batch.
 */
export function logStandardError(run: CompleteMetrics, warmUp: number): number | null {
  const logs = logProfile(run, warmUp)
  const size = Math.floor(logs.length / SCATTER_BATCHES)
  if (size < 2) return null
  const means = Array.from({ length: SCATTER_BATCHES }, (_, batch) =>
    meanOf(logs.slice(batch * size, (batch + 1) * size)),
  )
  const mean = meanOf(means)
  const squares = means.reduce((total, value) => total + (value - mean) ** 2, 0)
  return Number.isFinite(squares) ? Math.sqrt(squares / (SCATTER_BATCHES - 1) / SCATTER_BATCHES) : null
}

/**
 * ln(seconds per sample) of each whole period after the warm-up. Periods of different batch size differ by design
 * (a recipe may let the batch grow), so each is taken relative to the mean of those with its own number of samples.
 */
function logProfile(run: CompleteMetrics, warmUp: number): number[] {
  const period = periodOf(run)
  const { seconds, samples } = run.steps
  const timed = timedSteps(seconds.length, warmUp, period)
  const periods = countedPeriods(run, timed).map((own) => {
    const count = sumOf(samples.slice(...own))
    return { count, log: Math.log(sumOf(seconds.slice(...own)) / count) }
  })
  const groups = Map.groupBy(periods, ({ count }) => count)
  const means = new Map([...groups].map(([count, group]) => [count, meanOf(group.map(({ log }) => log))]))
  return periods.map(({ count, log }) => log - (means.get(count) ?? 0))
}

/** Steps after which the work of a step repeats. */
export function periodOf({ start }: CompleteMetrics): number {
  return start.period_steps ?? 1
}
