// Two runs of one block share seed and data order: how long their training losses stay the same, and how far they part.
import type { CompleteMetrics } from '../read/metrics-record.ts'

export interface SameSeed {
  /** Steps compared. */
  readonly steps: number
  /** First step whose training losses are not the same to the last bit; null if there is none. */
  readonly firstDivergentStep: number | null
  readonly largestDifference: number
  /** Step of the largest difference. */
  readonly largestAtStep: number
}

/** Null unless both runs report a training loss for each of equally many steps. */
export function compareSameSeed(baseline: CompleteMetrics, optimized: CompleteMetrics): SameSeed | null {
  const [one, other] = [lossesOf(baseline), lossesOf(optimized)]
  if (one === null || other === null || one.length !== other.length) return null
  const differences = one.map((loss, index) => Math.abs((other[index] ?? Number.NaN) - loss))
  const first = differences.findIndex((difference) => difference !== 0)
  const largest = differences.reduce((most, difference) => Math.max(most, difference), 0)
  if (!Number.isFinite(largest)) return null
  return {
    steps: one.length,
    firstDivergentStep: first === -1 ? null : first + 1,
    largestDifference: largest,
    largestAtStep: differences.indexOf(largest) + 1,
  }
}

/** Null unless there is one for each step: with losses of some steps only, it is unknown which. */
export function lossesOf({ steps }: CompleteMetrics): readonly number[] | null {
  return steps.trainLoss.length === steps.seconds.length ? steps.trainLoss : null
}
