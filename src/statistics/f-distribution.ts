// The F distribution of a quotient of two variances.
import { quantile } from './quantile.ts'
import { regularizedIncompleteBeta } from './special-functions.ts'

/** P(F <= f) with `df1` and `df2` degrees of freedom. Source: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.5. */
export function fCdf(f: number, df1: number, df2: number): number {
  return f <= 0 ? 0 : regularizedIncompleteBeta((df1 * f) / (df1 * f + df2), df1 / 2, df2 / 2)
}

/** The f with P(F <= f) = p. */
export function fQuantile(p: number, df1: number, df2: number): number {
  if (!(p > 0 && p < 1) || !(df1 > 0) || !(df2 > 0))
    throw new RangeError(`fQuantile(${p}, ${df1}, ${df2}): needs 0 < p < 1 and degrees of freedom above 0`)
  return quantile((f) => fCdf(f, df1, df2), p)
}
