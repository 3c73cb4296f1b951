// The steps of both variants -> how long they took over the run, and how their times are distributed.
import { VARIANTS, type Variant } from '../../config/experiment.ts'
import type { FinishedRun } from '../summary.ts'
import { curveOf, partEnds, type Spread, type SpreadCurve } from './spread.ts'

export interface StepTimes {
  /** Median step of each part of the training, between its 10th and 90th percentile; after the warm-up steps. */
  readonly overRun: SpreadCurve | null
  /** Of the same steps; null without one. */
  readonly distributions: Readonly<Record<Variant, Distribution | null>>
}

export interface Distribution {
  /** Seconds at the middle of each bin. */
  readonly bins: readonly number[]
  /** Share of the steps in each bin; those below the first and above the last are counted there. */
  readonly shares: readonly number[]
  /** Seconds at each of QUANTILES. */
  readonly quantiles: readonly number[]
  readonly steps: number
}

export const QUANTILES = [0, 0.01, 0.1, 0.5, 0.9, 0.99, 1] as const

const BINS = 40
/** Beyond, single slow steps would leave all others in one bin. */
const TAIL = 0.005

/** One number a step; typed, since all runs together may have millions. */
interface TimedSteps {
  /** Samples at its end. */
  readonly seen: Float64Array
  readonly seconds: Float64Array
}

interface TimedRun {
  readonly variant: Variant
  readonly steps: TimedSteps
}

/** Null where no run of either variant has a timed step. */
export function stepTimes(
  runs: readonly FinishedRun[],
  warmUpStepsOf: (run: FinishedRun) => number,
  points: number,
): StepTimes | null {
  const timed = runs.map((run) => ({
    variant: run.run.variant,
    steps: timedStepsOf(run, warmUpStepsOf(run)),
  }))
  const ofVariant = (variant: Variant) => timed.filter((one) => one.variant === variant)
  const sorted = (variant: Variant) => joined(ofVariant(variant).map(({ steps }) => steps.seconds)).sort()
  const seconds = { baseline: sorted('baseline'), optimized: sorted('optimized') }
  if (VARIANTS.every((variant) => seconds[variant].length === 0)) return null
  return {
    overRun: overRun(timed, points),
    distributions: {
      baseline: distributionOf(seconds.baseline),
      optimized: distributionOf(seconds.optimized),
    },
  }
}

function timedStepsOf({ metrics: { steps } }: FinishedRun, warmUpSteps: number): TimedSteps {
  const held = new Set(steps.held.map(({ index }) => index))
  const isTimed = (_: number, index: number) => index >= warmUpSteps && !held.has(index)
  let total = 0
  const seen = Float64Array.from(steps.samples, (count) => {
    total += count
    return total
  })
  return { seen: seen.filter(isTimed), seconds: Float64Array.from(steps.seconds).filter(isTimed) }
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((total, { length }) => total + length, 0))
  let from = 0
  for (const part of parts) {
    all.set(part, from)
    from += part.length
  }
  return all
}

function overRun(timed: readonly TimedRun[], points: number): SpreadCurve | null {
  const having = timed.filter(({ steps }) => steps.seen.length > 0)
  const from = Math.min(...having.map(({ steps }) => steps.seen[0] ?? 0))
  const to = Math.max(...having.map(({ steps }) => steps.seen.at(-1) ?? 0))
  const fewest = Math.min(...having.map(({ steps }) => steps.seen.length))
  const parts = Math.min(points, fewest)
  if (!(parts >= 2 && to > from)) return null
  const ends = partEnds(from, to, parts)
  const spread = (variant: Variant): Spread => {
    const inParts: number[][] = ends.map(() => [])
    for (const one of having) if (one.variant === variant) sortInto(inParts, one.steps, from, to)
    const at = inParts.map((values) => (values.length === 0 ? null : Float64Array.from(values).sort()))
    const line = (share: number) => at.map((values) => values && quantileOf(values, share))
    return { middle: line(0.5), low: line(0.1), high: line(0.9) }
  }
  return curveOf(
    ends.map(Math.round),
    spread,
    (variant) => having.filter((one) => one.variant === variant).length,
  )
}

function sortInto(parts: number[][], { seen, seconds }: TimedSteps, from: number, to: number): void {
  seen.forEach((samples, step) => {
    const part = Math.ceil(((samples - from) / (to - from)) * parts.length) - 1
    parts[Math.min(parts.length - 1, Math.max(0, part))]?.push(seconds[step] ?? Number.NaN)
  })
}

function distributionOf(sorted: Float64Array): Distribution | null {
  if (sorted.length === 0) return null
  const [low, high] = [quantileOf(sorted, TAIL), quantileOf(sorted, 1 - TAIL)]
  // Steps that all take equally long need a bin of some width too.
  const width = (high - low || Math.abs(high) || 1) / BINS
  const counts = new Array<number>(BINS).fill(0)
  for (const seconds of sorted) {
    const bin = Math.min(BINS - 1, Math.max(0, Math.floor((seconds - low) / width)))
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  return {
    bins: counts.map((_, bin) => low + (bin + 0.5) * width),
    shares: counts.map((count) => count / sorted.length),
    quantiles: QUANTILES.map((share) => quantileOf(sorted, share)),
    steps: sorted.length,
  }
}

/** Of sorted values, the one below which that share of them lies. */
function quantileOf(sorted: Float64Array, share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN
}
