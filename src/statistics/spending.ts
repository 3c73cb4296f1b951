// Error levels for several looks at one t statistic, so that all looks together err at a stated rate.
import { sumOf } from './averages.ts'
import { studentTCdf, studentTQuantile } from './student-t.ts'

/** Later looks get more, by this power of their blocks: they cost little there, and decide the close cases. */
const GROWTH = 0.4

/** What each look may err by: together `total`, whatever the observations depend on (Bonferroni). */
export function shares(counts: readonly number[], total: number): number[] {
  const weights = counts.map((count) => count ** GROWTH)
  const sum = sumOf(weights)
  return weights.map((weight) => (total * weight) / sum)
}

/** More of either change a level by less than a hundredth of it. */
const [BINS, QUANTILES] = [500, 250]

/**
 * One-sided level of each look. The t statistic of the first n of independent normal observations depends on their
 * direction alone, so over n it is a Markov chain with one variable: u = sum / sqrt(n * sum of squares). Its
 * distribution is carried from n to n + 1 on a grid; at each look, its share is cut
 * off. Error spending: Lan and DeMets, Biometrika 70, 1983; with levels of a normal distribution, t overshoots.
 */
export function spendingLevels(counts: readonly number[], total: number): number[] {
  const key = `${counts} ${total}`
  const levels = known.get(key) ?? levelsByGrid(counts, total)
  known.set(key, levels)
  return levels
}

/** Takes some 50 ms for 8 observations, and a file is parsed more than once. */
const known = new Map<string, number[]>()

function levelsByGrid(counts: readonly number[], total: number): number[] {
  let density = afterTwo()
  let n = 2
  return shares(counts, total).map((share, look) => {
    for (const count = counts[look] ?? 0; n < count; n += 1) density = afterOneMore(density, n)
    const angle = cutOff(density, share)
    // Of a single look, all; the grid has it a little beside.
    return Math.min(total, 1 - studentTCdf(Math.sqrt(n - 1) * Math.tan(angle), n - 1))
  })
}

/** Mass per bin of the angle asin(u), which is uniform after two observations. */
type Density = Float64Array

function afterTwo(): Density {
  const density = new Float64Array(BINS + 1).fill(1 / BINS)
  density[0] = 0.5 / BINS
  density[BINS] = 0.5 / BINS
  return density
}

function angleOf(bin: number): number {
  return Math.PI * (bin / BINS - 0.5)
}

/** `n` observations have been made: a further one over the root of their sum of squares is t with n df over sqrt(n). */
function afterOneMore(density: Density, n: number): Density {
  const next = new Float64Array(BINS + 1)
  const steps = Array.from(
    { length: QUANTILES },
    (_, index) => studentTQuantile((index + 0.5) / QUANTILES, n) / Math.sqrt(n),
  )
  for (let bin = 0; bin <= BINS; bin += 1) {
    const mass = (density[bin] ?? 0) / QUANTILES
    if (mass === 0) continue
    const sum = Math.sin(angleOf(bin)) * Math.sqrt(n)
    for (const step of steps) {
      const u = (sum + step) / Math.sqrt((n + 1) * (1 + step * step))
      addAt(next, Math.asin(Math.max(-1, Math.min(1, u))), mass)
    }
  }
  return next
}

/** Shared between the two nearest bins, so that no mean moves. */
function addAt(density: Density, angle: number, mass: number): void {
  const place = (angle / Math.PI + 0.5) * BINS
  const bin = Math.min(BINS - 1, Math.floor(place))
  const share = place - bin
  density[bin] = (density[bin] ?? 0) + mass * (1 - share)
  density[bin + 1] = (density[bin + 1] ?? 0) + mass * share
}

/** Takes this much mass away from the top; the angle above which it was. */
function cutOff(density: Density, mass: number): number {
  let left = mass
  for (let bin = BINS; bin > 0; bin -= 1) {
    const here = density[bin] ?? 0
    if (here >= left) {
      density[bin] = here - left
      // A bin reaches half a bin to both sides, and its mass is spread over it.
      return angleOf(bin + 0.5 - (here === 0 ? 0 : left / here))
    }
    left -= here
    density[bin] = 0
  }
  return angleOf(0)
}
