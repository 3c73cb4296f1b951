// The CDF of the standard normal distribution, by a series.

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

function normalDensity(z: number): number {
  return Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)
}
