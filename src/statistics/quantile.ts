// The quantile of a distribution from its CDF, by bisection: slow, but monotone and exact to the last digits.

/** The x >= 0 with cdf(x) = p, for a continuous cdf with cdf(0) <= p < 1. */
export function quantile(cdf: (x: number) => number, p: number): number {
  let low = 0
  let high = 1
  while (cdf(high) < p) high *= 2
  for (let step = 0; step < 200; step += 1) {
    const middle = (low + high) / 2
    if (middle === low || middle === high) break
    if (cdf(middle) < p) low = middle
    else high = middle
  }
  return (low + high) / 2
}
