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

/** Launch -> its coefficient in an estimate, which is a sum of ln(seconds per sample). */
export type Contrast = ReadonlyMap<string, number>

/** Of the one less the other, in units of that of one launch: a baseline launch that both share cancels. */
export function varianceOf(one: Contrast, other: Contrast = new Map()): number {
  const launches = new Set([...one.keys(), ...other.keys()])
  return [...launches].reduce(
    (sum, launch) => sum + ((one.get(launch) ?? 0) - (other.get(launch) ?? 0)) ** 2,
    0,
  )
}

/** `variance`: of the estimate, in units of that of one launch. A rung is taken to scatter as the baseline does. */
export function effectOf(logRatio: number, variance: number, noise: Noise | null): Effect {
  const ratio = Math.exp(logRatio)
  if (noise === null) return { ratio, bounds: null }
  const t = studentTQuantile((1 + CONFIDENCE) / 2, noise.differences)
  const margin = t * noise.deviation * Math.sqrt(variance)
  return { ratio, bounds: { lower: Math.exp(logRatio - margin), upper: Math.exp(logRatio + margin) } }
}
