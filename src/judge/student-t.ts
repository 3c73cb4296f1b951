// Student's t distribution: its CDF by the incomplete beta function, its quantile by bisection.

/** P(T <= t) with `df` degrees of freedom. Source: NIST DLMF 8.17, with I_x(df/2, 1/2) at x = df / (df + t^2). */
export function studentTCdf(t: number, df: number): number {
  const tail = regularizedIncompleteBeta(df / (df + t * t), df / 2, 0.5) / 2
  return t > 0 ? 1 - tail : tail
}

/** The t with P(T <= t) = p, for 0 < p < 1. Bisection: slow, but monotone and exact to the last digits. */
export function studentTQuantile(p: number, df: number): number {
  if (!(p > 0 && p < 1) || !(df > 0))
    throw new RangeError(`studentTQuantile(${p}, ${df}): needs 0 < p < 1 and df > 0`)
  if (p < 0.5) return -studentTQuantile(1 - p, df)
  let low = 0
  let high = 1
  while (studentTCdf(high, df) < p) high *= 2
  for (let step = 0; step < 200; step += 1) {
    const middle = (low + high) / 2
    if (middle === low || middle === high) break
    if (studentTCdf(middle, df) < p) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** I_x(a, b) by the continued fraction DLMF 8.17.22, evaluated with the modified Lentz method. */
function regularizedIncompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // The fraction converges fast only on this side of the mean; the symmetry DLMF 8.17.4 gives the other.
  if (x > (a + 1) / (a + b + 2)) return 1 - regularizedIncompleteBeta(1 - x, b, a)
  const front =
    Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a
  return front * continuedFraction(x, a, b)
}

function continuedFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300
  const nonZero = (value: number) => (Math.abs(value) < tiny ? tiny : value)
  let c = 1
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m <= 300; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    let delta = 1
    for (const term of [even, odd]) {
      d = 1 / nonZero(1 + term * d)
      c = nonZero(1 + term / c)
      delta = c * d
      fraction *= delta
    }
    if (Math.abs(delta - 1) < 1e-15) break
  }
  return fraction
}

/** ln Gamma(x) for x > 0: recurrence up to x >= 10, then Stirling's series (DLMF 5.11.1). */
function logGamma(x: number): number {
  let shift = 0
  let z = x
  while (z < 10) {
    shift -= Math.log(z)
    z += 1
  }
  const w = 1 / (z * z)
  const series = (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / z
  return shift + (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series
}
