// Student's t distribution: its CDF by the incomplete beta function, its quantile by bisection.
import { quantile } from './quantile.ts'
import { regularizedIncompleteBeta } from './special-functions.ts'

/** P(T <= t) with `df` degrees of freedom. Source: NIST DLMF 8.17, with I_x(df/2, 1/2) at x = df / (df + t^2). */
export function studentTCdf(t: number, df: number): number {
  const square = t * t
  // Near the centre x is 1 but for its last digits, which would be lost; 1 - x has them all.
  if (square < df) {
    const fromCentre = regularizedIncompleteBeta(square / (df + square), 0.5, df / 2) / 2
    return t > 0 ? 0.5 + fromCentre : 0.5 - fromCentre
  }
  const tail = regularizedIncompleteBeta(df / (df + square), df / 2, 0.5) / 2
  return t > 0 ? 1 - tail : tail
}

/** The t with P(T <= t) = p, for 0 < p < 1. Bisection: slow, but monotone and exact to the last digits. */
export function studentTQuantile(p: number, df: number): number {
  if (!(p > 0 && p < 1) || !(df > 0))
    throw new RangeError(`studentTQuantile(${p}, ${df}): needs 0 < p < 1 and df > 0`)
  if (p < 0.5) return -studentTQuantile(1 - p, df)
  const key = `${p} ${df}`
  const t = knownQuantiles.get(key) ?? quantile((value) => studentTCdf(value, df), p)
  knownQuantiles.set(key, t)
  return t
}

/** An experiment asks for the same few points for each gate, look and split. */
const knownQuantiles = new Map<string, number>()
