// How far apart two launches of one training come out in a sitting, from the baseline's: what a rung has to beat.
import { SCATTER_BATCHES } from '../measure/steady-state.ts'
import { sumOf } from '../statistics/averages.ts'
import { studentTQuantile } from '../statistics/student-t.ts'

/** Two sided, for one comparison. */
export const CONFIDENCE = 0.95

export interface Noise {
  /** Standard deviation of ln(seconds per sample) of one launch: 0.01 is about 1%. */
  readonly deviation: number
  readonly differences: number
  /** Fewer than the differences: two that share a launch say less than two that do not. */
  readonly degreesOfFreedom: number
}

export interface Effect {
  readonly ratio: number
  /** Null where the noise is unknown, or none was seen. */
  readonly bounds: { readonly lower: number; readonly upper: number } | null
}

/**
 * From differences between neighbouring launches (the mean square successive difference of von Neumann, 1941), which a
 * slow drift of the machine hardly enters. Of m differences in a sitting the squares sum to 2 m variances, with a
 * variance of (12 m - 4) squared variances; a chi-squared with these two moments has the degrees of freedom. Null
 * without two baseline launches in any sitting.
 */
export function noiseOf(logsOfSittings: readonly (readonly number[])[]): Noise | null {
  const squaresOfSittings = logsOfSittings
    .map((logs) => logs.slice(1).map((log, index) => (log - (logs[index] ?? log)) ** 2))
    .filter(({ length }) => length > 0)
  const squares = squaresOfSittings.flat()
  const differences = squares.length
  if (differences === 0) return null
  return {
    deviation: Math.sqrt(sumOf(squares) / (2 * differences)),
    differences,
    degreesOfFreedom: (2 * differences ** 2) / sumOf(squaresOfSittings.map(({ length }) => 3 * length - 1)),
  }
}

export interface ContrastTerm {
  /** Of the launch in an estimate, which is a sum of ln(seconds per sample). */
  readonly coefficient: number
  /** By the scatter within the launch; 0 where it is unknown. */
  readonly standardError: number
}

/** Launch -> its share in an estimate. */
export type Contrast = ReadonlyMap<string, ContrastTerm>

/**
 * The one estimate less the other: a baseline launch that both share cancels. The variance of a launch is that between
 * the baseline's, and that within its own steps besides: one that waits for the host scatters more than the baseline ever
 * does. Degrees of freedom by Welch and Satterthwaite. What only such launches differ by from each other is not in it.
 */
export function effectOf(
  logRatio: number,
  noise: Noise | null,
  one: Contrast,
  other: Contrast = new Map(),
): Effect {
  const ratio = Math.exp(logRatio)
  if (noise === null) return { ratio, bounds: null }
  const terms = [...new Set([...one.keys(), ...other.keys()])].map((launch) => {
    const [ours, theirs] = [one.get(launch), other.get(launch)]
    const coefficient = (ours?.coefficient ?? 0) - (theirs?.coefficient ?? 0)
    return { coefficient, standardError: ours?.standardError ?? theirs?.standardError ?? 0 }
  })
  const between = sumOf(terms.map(({ coefficient }) => (coefficient * noise.deviation) ** 2))
  const components = [
    { variance: between, freedom: noise.degreesOfFreedom },
    ...terms.map(({ coefficient, standardError }) => ({
      variance: (coefficient * standardError) ** 2,
      freedom: SCATTER_BATCHES - 1,
    })),
  ]
  const variance = sumOf(components.map((component) => component.variance))
  // Clocks never give the same number twice: where all scatter is 0 they are too coarse to tell how far off they are.
  if (variance === 0) return { ratio, bounds: null }
  const freedom = variance ** 2 / sumOf(components.map((part) => part.variance ** 2 / part.freedom))
  const margin = studentTQuantile((1 + CONFIDENCE) / 2, freedom) * Math.sqrt(variance)
  return { ratio, bounds: { lower: Math.exp(logRatio - margin), upper: Math.exp(logRatio + margin) } }
}
