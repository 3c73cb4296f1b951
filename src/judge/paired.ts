// Paired evidence: one number per block, a mean, and one-sided confidence bounds.
import { studentTQuantile } from '../statistics/student-t.ts'

export interface PairedEstimate {
  readonly estimate: number
  /** One-sided bounds at `confidence` each; null with fewer than two pairs: one pair gives no honest interval. */
  readonly bounds: { readonly lower: number; readonly upper: number } | null
  readonly pairs: number
  readonly confidence: number
}

export const CONFIDENCE = 0.95

/** Mean of the differences with t bounds: mean -/+ t s / sqrt(n). Null without any pair, or past what a double holds. */
export function pairedMean(values: readonly number[], confidence = CONFIDENCE): PairedEstimate | null {
  const n = values.length
  const mean = values.reduce((total, value) => total + value, 0) / n
  if (!Number.isFinite(mean)) return null
  if (n === 1) return { estimate: mean, bounds: null, pairs: n, confidence }
  const variance = values.reduce((total, value) => total + (value - mean) ** 2, 0) / (n - 1)
  const margin = studentTQuantile(confidence, n - 1) * Math.sqrt(variance / n)
  const bounds = finiteBounds(mean - margin, mean + margin)
  return { estimate: mean, bounds, pairs: n, confidence }
}

function finiteBounds(lower: number, upper: number): PairedEstimate['bounds'] {
  return Number.isFinite(lower) && Number.isFinite(upper) ? { lower, upper } : null
}

/**
 * Mean ratio numerator / denominator over pairs, on the log scale: times are positive and their errors are
 * relative, and a drift that both runs of a block share cancels. Null unless every number is positive and finite.
 */
export function pairedRatio(
  pairs: readonly { readonly numerator: number; readonly denominator: number }[],
  confidence = CONFIDENCE,
): PairedEstimate | null {
  if (pairs.some(({ numerator, denominator }) => !(numerator > 0 && denominator > 0))) return null
  const logs = pairedMean(
    pairs.map(({ numerator, denominator }) => Math.log(numerator) - Math.log(denominator)),
    confidence,
  )
  if (logs === null || !Number.isFinite(Math.exp(logs.estimate))) return null
  const { bounds } = logs
  return {
    ...logs,
    estimate: Math.exp(logs.estimate),
    bounds: bounds && finiteBounds(Math.exp(bounds.lower), Math.exp(bounds.upper)),
  }
}
