// Paired evidence: one number per block, a mean, and one-sided confidence bounds.
import { meanOf } from '../statistics/averages.ts'
import { studentTQuantile } from '../statistics/student-t.ts'

export interface PairedEstimate {
  readonly estimate: number
  /** One-sided bounds, each at its `confidence`; null with fewer than two pairs: one pair gives no honest interval. */
  readonly bounds: { readonly lower: number; readonly upper: number } | null
  readonly pairs: number
  readonly confidence: Confidence
  /** One per block, on the scale that the bounds are made on: logarithms for a ratio. */
  readonly values: readonly number[]
  readonly scale: 'linear' | 'log'
}

/** Of the lower bound and of the upper one. */
export interface Confidence {
  readonly lower: number
  readonly upper: number
}

/** What the bounds are made with. */
export interface BoundRule {
  readonly confidence: Confidence
  /** Standard deviation that the values are taken to have at least. */
  readonly leastDeviation: number
}

export function bothAt(confidence: number): BoundRule {
  return { confidence: { lower: confidence, upper: confidence }, leastDeviation: 0 }
}

const BOTH_AT_95 = bothAt(0.95)

/** Mean of the differences with t bounds: mean -/+ t s / sqrt(n). Null without any pair, or past what a double holds. */
export function pairedMean(values: readonly number[], rule = BOTH_AT_95): PairedEstimate | null {
  const { confidence, leastDeviation } = rule
  const n = values.length
  const mean = meanOf(values)
  if (!Number.isFinite(mean)) return null
  const found = { estimate: mean, bounds: null, pairs: n, confidence, values, scale: 'linear' } as const
  if (n === 1) return found
  const error = Math.max(standardDeviation(values), leastDeviation) / Math.sqrt(n)
  const margin = (level: number) => studentTQuantile(level, n - 1) * error
  return {
    ...found,
    bounds: finiteBounds(mean - margin(confidence.lower), mean + margin(confidence.upper)),
  }
}

/** Of a sample: n - 1 degrees of freedom. */
export function standardDeviation(values: readonly number[]): number {
  const mean = meanOf(values)
  return Math.sqrt(values.reduce((total, value) => total + (value - mean) ** 2, 0) / (values.length - 1))
}

function finiteBounds(lower: number, upper: number): PairedEstimate['bounds'] {
  return Number.isFinite(lower) && Number.isFinite(upper) ? { lower, upper } : null
}

/**
 * Mean ratio numerator / denominator over pairs, on the log scale: times are positive and their errors are
 * relative, and a drift that both runs of a block share cancels. Null unless every number is positive and finite,
 * since nothing else has a finite logarithm.
 */
export function pairedRatio(
  pairs: readonly { readonly numerator: number; readonly denominator: number }[],
  rule = BOTH_AT_95,
): PairedEstimate | null {
  const logs = pairedMean(
    pairs.map(({ numerator, denominator }) => Math.log(numerator) - Math.log(denominator)),
    rule,
  )
  if (logs === null || !Number.isFinite(Math.exp(logs.estimate))) return null
  const { bounds } = logs
  return {
    ...logs,
    estimate: Math.exp(logs.estimate),
    bounds: bounds && finiteBounds(Math.exp(bounds.lower), Math.exp(bounds.upper)),
    scale: 'log',
  }
}
