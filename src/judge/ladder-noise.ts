// How far apart two launches of one training come out in a sitting, from the baseline's: what a rung has to beat.
import { studentTQuantile } from '../statistics/student-t.ts'

/** Two sided, for one comparison. */
export const CONFIDENCE = 0.95

export interface Noise {
  /** Standard deviation of ln(seconds per sample) of one launch: 0.01 is about 1%. */
  readonly deviation: number
  readonly differences: number
}

export interface Effect {
  readonly ratio: number
  /** Null where the noise is unknown. */
  readonly bounds: { readonly lower: number; readonly upper: number } | null
}

/**
 * From differences between neighbouring launches (the mean square successive difference of von Neumann, 1941), which a
 * slow drift of the machine hardly enters. Null without two baseline launches in any sitting.
 */
export function noiseOf(logsOfSittings: readonly (readonly number[])[]): Noise | null {
  const squares = logsOfSittings.flatMap((logs) =>
    logs.slice(1).map((log, index) => (log - (logs[index] ?? log)) ** 2),
  )
  if (squares.length === 0) return null
  const sum = squares.reduce((total, square) => total + square, 0)
  return { deviation: Math.sqrt(sum / (2 * squares.length)), differences: squares.length }
}

export interface Share {
  /** Of the launch in an estimate, which is a sum of ln(seconds per sample). */
  readonly coefficient: number
  /** By the scatter within the launch; 0 where it is unknown. */
  readonly standardError: number
}

/** Launch -> its share in an estimate. */
export type Contrast = ReadonlyMap<string, Share>

/**
 * The one estimate less the other: a baseline launch that both share cancels. A launch scatters as the baseline's do, or
 * as its own steps tell, if that is more: one that waits for the host scatters more than the baseline ever does.
 */
export function effectOf(
  logRatio: number,
  noise: Noise | null,
  one: Contrast,
  other: Contrast = new Map(),
): Effect {
  const ratio = Math.exp(logRatio)
  if (noise === null) return { ratio, bounds: null }
  const variances = [...new Set([...one.keys(), ...other.keys()])].map((launch) => {
    const [ours, theirs] = [one.get(launch), other.get(launch)]
    const coefficient = (ours?.coefficient ?? 0) - (theirs?.coefficient ?? 0)
    const within = ours?.standardError ?? theirs?.standardError ?? 0
    return (coefficient * Math.max(noise.deviation, within)) ** 2
  })
  const t = studentTQuantile((1 + CONFIDENCE) / 2, noise.differences)
  const margin = t * Math.sqrt(variances.reduce((sum, variance) => sum + variance, 0))
  return { ratio, bounds: { lower: Math.exp(logRatio - margin), upper: Math.exp(logRatio + margin) } }
}
