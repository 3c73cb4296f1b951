// Runs of a variant that are unlike the others: an outlier, or two groups as if the machine had two speeds.
import { VARIANTS } from '../../config/experiment.ts'
import { MATTERS } from '../../measure/steady-state.ts'
import { SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { meanOf, medianOf } from '../../statistics/averages.ts'
import { studentTQuantile } from '../../statistics/student-t.ts'
import { standardDeviation } from '../paired.ts'
import type { Warning } from './warning.ts'

/** Of all runs of a variant together: normal noise alone names an outlier in 2 experiments of 100. */
const FALSE_ALARM = 0.01
/** Two groups: the gap between them is this many times wider than the wider of both. Calibrated by simulation. */
const GAP_TO_WIDTH = 3
/** Of fewer, normal noise alone would often form two groups of at least two. */
const MIN_RUNS = 6

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

/** Source: Grubbs, Procedures for Detecting Outlying Observations in Samples, Technometrics 11, 1969. */
function outlierTest(logs: readonly number[]): (log: number) => boolean {
  const n = logs.length
  const [mean, deviation] = [meanOf(logs), standardDeviation(logs)]
  const t = studentTQuantile(1 - FALSE_ALARM / (2 * n), n - 2)
  const critical = ((n - 1) / Math.sqrt(n)) * Math.sqrt(t ** 2 / (n - 2 + t ** 2))
  return (log) => Math.abs(log - medianOf(logs)) > MATTERS && Math.abs(log - mean) > critical * deviation
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
