// Runs of a variant that are unlike the others: an outlier, or two groups as if the machine had two speeds.
import { VARIANTS } from '../../config/experiment.ts'
import { MATTERS } from '../../measure/steady-state.ts'
import { SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { medianOf } from '../../statistics/averages.ts'
import type { Warning } from './warning.ts'

/** Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993: modified z-scores beyond 3.5. */
const OUTLIER_SCORE = 3.5
/** A normal distribution has 0.6745 of its standard deviation as median absolute deviation. */
const MAD_OF_NORMAL = 0.6745
/** Two groups: the gap between them is this many times wider than the wider of both. Calibrated by simulation. */
const GAP_TO_WIDTH = 3
/** Fewer cannot form two groups of at least two, nor a median that an outlier does not move. */
const MIN_RUNS = 5

/** Nothing is excluded for it: an outlier widens the interval, and that is its proper effect. */
export const outlierWarnings: Warning<'measured'> = ({ measured }) => {
  return VARIANTS.flatMap((variant) => {
    const timed = measured.flatMap(({ runId, variant: of, metrics }) => {
      const time = metrics[SECONDS_PER_SAMPLE]
      return of === variant && time !== undefined ? [{ runId, log: Math.log(time) }] : []
    })
    if (timed.length < MIN_RUNS) return []
    const logs = timed.map(({ log }) => log)
    if (hasTwoModes(logs))
      return [
        `${variant}: the runs fall into two groups of different speed, which widens the interval. Check whether the machine has two states`,
      ]
    const isOutlier = outlierTest(logs)
    return timed
      .filter(({ log }) => isOutlier(log))
      .map(
        ({ runId, log }) =>
          `${runId} is an outlier: ${log > medianOf(logs) ? 'slower' : 'faster'} than the other runs of its variant, which widens the interval`,
      )
  })
}

function outlierTest(logs: readonly number[]): (log: number) => boolean {
  const median = medianOf(logs)
  const deviation = medianOf(logs.map((log) => Math.abs(log - median)))
  return (log) =>
    Math.abs(log - median) > MATTERS && MAD_OF_NORMAL * Math.abs(log - median) > OUTLIER_SCORE * deviation
}

/** The widest gap leaves at least two runs on each side, and is wide compared with either side. */
export function hasTwoModes(logs: readonly number[]): boolean {
  const sorted = [...logs].sort((a, b) => a - b)
  const between = (from: number, to: number) => (sorted[to] ?? Number.NaN) - (sorted[from] ?? Number.NaN)
  const last = sorted.length - 1
  for (let split = 2; split < last; split += 1) {
    const gap = between(split - 1, split)
    const width = Math.max(between(0, split - 1), between(split, last))
    if (gap > MATTERS && gap > GAP_TO_WIDTH * width) return true
  }
  return false
}
