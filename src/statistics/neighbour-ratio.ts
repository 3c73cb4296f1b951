// The von Neumann ratio: how much neighbours differ, compared with all values.
import { meanOf, sumOf } from './averages.ts'
import { regularizedIncompleteBeta } from './special-functions.ts'

/** Squared differences of neighbours over squared deviations: about 2 if independent, less if neighbours are alike. */
export function neighbourRatio(values: readonly number[]): number | null {
  const mean = meanOf(values)
  const squares = sumOf(values.map((value) => (value - mean) ** 2))
  const differences = sumOf(values.slice(1).map((value, index) => (value - (values[index] ?? 0)) ** 2))
  return squares > 0 ? differences / squares : null
}

/**
 * P(ratio <= r) for n independent normal values, by the symmetric beta distribution on [0, 4] with its variance.
 * Variance 4 (n - 2) / (n^2 - 1): von Neumann, Annals of Mathematical Statistics 12, 1941.
 */
export function neighbourRatioCdf(ratio: number, n: number): number {
  const shape = ((n ** 2 - 1) / (n - 2) - 1) / 2
  return regularizedIncompleteBeta(ratio / 4, shape, shape)
}
