// How far from its limit a truth must be to be proven, and how many pairs a distance needs: the power of the paired t bound.
import { normalCdf } from './normal.ts'
import { quantile } from './quantile.ts'
import { logGamma } from './special-functions.ts'
import { studentTQuantile } from './student-t.ts'

/** Chance of proof that a planned number of pairs should have. */
const POWER = 0.8

/** More pairs than this are no plan. */
export const MAX_PAIRS = 1000

/**
 * Chance that a one-sided t bound over df + 1 pairs clears a limit that the truth clears by `noncentrality`
 * standard errors: P(T > t) of the noncentral t. Derivation: T > t means Z > t S - noncentrality, with Z normal
 * and S = sqrt(chi-squared / df) independent of it; the mean over S is taken by Simpson's rule.
 */
export function proofPower(noncentrality: number, df: number, confidence: number): number {
  const t = studentTQuantile(confidence, df)
  const intervals = 400
  const end = 1 + 12 / Math.sqrt(2 * df)
  let sum = 0
  for (let index = 0; index <= intervals; index += 1) {
    const s = (end * index) / intervals
    const weight = index === 0 || index === intervals ? 1 : index % 2 === 1 ? 4 : 2
    sum += weight * chiDensity(s, df) * normalCdf(noncentrality - t * s)
  }
  return (sum * end) / (3 * intervals)
}

/** Density of S = sqrt(chi-squared / df). */
function chiDensity(s: number, df: number): number {
  if (s === 0) return df === 1 ? Math.sqrt(2 / Math.PI) : 0
  const logDensity =
    Math.log(2) + (df / 2) * Math.log(df / 2) - logGamma(df / 2) + (df - 1) * Math.log(s) - (df * s * s) / 2
  return Math.exp(logDensity)
}

/** Smallest distance to the limit that is proven in 80% of experiments, at this scatter between pairs. */
export function resolvableDistance(deviation: number, pairs: number, confidence: number): number {
  return (neededNoncentrality(pairs, confidence) * deviation) / Math.sqrt(pairs)
}

const knownNoncentralities = new Map<string, number>()

/** Takes milliseconds, and a report asks for the same one for each of its gates. */
function neededNoncentrality(pairs: number, confidence: number): number {
  const key = `${pairs} ${confidence}`
  const found =
    knownNoncentralities.get(key) ??
    quantile((noncentrality) => proofPower(noncentrality, pairs - 1, confidence), POWER)
  knownNoncentralities.set(key, found)
  return found
}

/** Fewest pairs that prove this distance in 80% of experiments; null beyond 1000. */
export function pairsToResolve(deviation: number, distance: number, confidence: number): number | null {
  const suffices = (pairs: number) =>
    deviation === 0 || proofPower((distance * Math.sqrt(pairs)) / deviation, pairs - 1, confidence) >= POWER
  if (!(distance > 0) || !suffices(MAX_PAIRS)) return null
  let [few, enough] = [1, MAX_PAIRS]
  while (enough - few > 1) {
    const middle = Math.floor((few + enough) / 2)
    if (suffices(middle)) enough = middle
    else few = middle
  }
  return enough
}
