// BCa bootstrap bounds of a mean over blocks: a check of the t bound that does not assume normal noise.
import { meanOf } from '../../statistics/averages.ts'
import { normalCdf, normalQuantile } from '../../statistics/normal.ts'
import { seededRandom } from '../../statistics/random.ts'

export interface Bounds {
  readonly lower: number
  readonly upper: number
}

/** Below this the resamples are too few kinds: BCa bounds of small samples are too narrow. */
const MIN_BLOCKS = 8
const RESAMPLES = 10_000

/**
 * One-sided bounds at `confidence` each. Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
 * section 14.3. Null for fewer than 8 values.
 */
export function bootstrapBounds(values: readonly number[], confidence: number): Bounds | null {
  if (values.length < MIN_BLOCKS) return null
  const mean = meanOf(values)
  if (values.every((value) => value === values[0])) return { lower: mean, upper: mean }
  const means = resampledMeans(values)
  const bias = biasOf(means, mean)
  if (bias === null) return null
  const acceleration = accelerationOf(values, mean)
  const at = (p: number) => percentile(means, adjusted(p, bias, acceleration))
  return { lower: at(1 - confidence), upper: at(confidence) }
}

function resampledMeans(values: readonly number[]): number[] {
  const random = seededRandom(1)
  const means = Array.from({ length: RESAMPLES }, () => {
    let sum = 0
    for (let draw = 0; draw < values.length; draw += 1)
      sum += values[Math.floor(random() * values.length)] ?? Number.NaN
    return sum / values.length
  })
  return means.sort((a, b) => a - b)
}

/** z0: how far the median of the resamples is from the estimate; equal ones count half. */
function biasOf(means: readonly number[], mean: number): number | null {
  const below = means.filter((value) => value < mean).length
  const equal = means.filter((value) => value === mean).length
  const share = (below + equal / 2) / means.length
  return share > 0 && share < 1 ? normalQuantile(share) : null
}

/** From the jackknife; for a mean its values differ from their mean by (x_i - mean) / (n - 1). */
function accelerationOf(values: readonly number[], mean: number): number {
  const deviations = values.map((value) => value - mean)
  const squares = deviations.reduce((total, d) => total + d ** 2, 0)
  const cubes = deviations.reduce((total, d) => total + d ** 3, 0)
  return cubes / (6 * squares ** 1.5)
}

function adjusted(p: number, bias: number, acceleration: number): number {
  const z = bias + normalQuantile(p)
  return normalCdf(bias + z / (1 - acceleration * z))
}

function percentile(sorted: readonly number[], p: number): number {
  const index = Math.min(sorted.length - 1, Math.max(0, Math.floor(p * sorted.length)))
  return sorted[index] ?? Number.NaN
}
