// The standard normal distribution: its CDF by a series, its quantile by bisection.
import { quantile } from './quantile.ts'

/** P(Z <= z). Source: Marsaglia, Evaluating the Normal Distribution, J. Stat. Softw. 11(4), 2004; absolute error below 1e-15. */
export function normalCdf(z: number): number {
  if (z < -8) return 0
  if (z > 8) return 1
  let sum = z
  let term = z
  for (let odd = 3; sum + term !== sum; odd += 2) {
    term *= (z * z) / odd
    sum += term
  }
  return 0.5 + sum * normalDensity(z)
}

/** The z with P(Z <= z) = p, for 0 < p < 1. */
export function normalQuantile(p: number): number {
  if (!(p > 0 && p < 1)) throw new RangeError(`normalQuantile(${p}): needs 0 < p < 1`)
  return p < 0.5 ? -quantile(normalCdf, 1 - p) : quantile(normalCdf, p)
}

function normalDensity(z: number): number {
  return Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)
}
