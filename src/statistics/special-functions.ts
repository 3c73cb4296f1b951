// The special functions behind the distributions: ln Gamma and the regularized incomplete beta function.

/** I_x(a, b) by the continued fraction DLMF 8.17.22, evaluated with the modified Lentz method. */
export function regularizedIncompleteBeta(x: number, a: number, b: number): number {
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
export function logGamma(x: number): number {
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
