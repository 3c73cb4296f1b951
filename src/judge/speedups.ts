// The speedups of an experiment, and how long a training must be for its set-up to pay off.
import type { RunSummary } from '../measure/summary.ts'
import {
  CYCLES_PER_SAMPLE,
  GPU_HOURS,
  SECONDS_PER_SAMPLE,
  TIME_TO_EACH_QUALITY,
  TIME_TO_QUALITY,
  TOTAL_SECONDS,
} from '../metrics/catalogue.ts'
import { atFastestSteps } from '../metrics/families.ts'
import { meanOf } from '../statistics/averages.ts'
import { type Block, speedupOf } from './blocks.ts'
import type { BoundRule, PairedEstimate } from './paired.ts'

export interface Speedups {
  /** Seconds per sample in the steady state. */
  readonly steady: PairedEstimate | null
  /** Process start to end at equal samples: set-up, evaluations and checkpoints included. */
  readonly total: PairedEstimate | null
  /** Until the baseline's final held-out loss; null where a run was evaluated only once or ends above it. */
  readonly toQuality: PairedEstimate | null
  /** Until it and the held-out loss of each part; null also where the trainer tells of no part. */
  readonly toEachQuality: PairedEstimate | null
  /** In clock cycles per sample: as if all runs had gone at one clock. Null where a clock was not measured. */
  readonly atOneClock: PairedEstimate | null
  /** Had no timed step taken longer than the fastest tenth of its run. */
  readonly atFastestSteps: Readonly<Record<StepSpeedup, PairedEstimate | null>>
  readonly breakEven: BreakEven
}

/** The optimized training is ahead of the baseline from this optimizer step on, in spite of its set-up, or up to it. */
export type BreakEven =
  | { readonly status: 'at-once' }
  | { readonly status: 'after'; readonly steps: number }
  | { readonly status: 'until'; readonly steps: number }
  | { readonly status: 'never' }
  | { readonly status: 'not-measured' }

/** What faster steps speed up, by its metric. */
const STEP_METRICS = {
  steady: SECONDS_PER_SAMPLE,
  total: TOTAL_SECONDS,
  gpuHours: GPU_HOURS,
  toQuality: TIME_TO_QUALITY,
  toEachQuality: TIME_TO_EACH_QUALITY,
} as const
type StepSpeedup = keyof typeof STEP_METRICS
const STEP_SPEEDUPS = Object.keys(STEP_METRICS) as readonly StepSpeedup[]

export function speedupsOf(blocks: readonly Block[], rule: BoundRule): Speedups {
  const of = (metric: string) => speedupOf(metric, blocks, rule)
  const atFastest = STEP_SPEEDUPS.map((name) => [name, of(atFastestSteps(STEP_METRICS[name]))] as const)
  return {
    steady: of(STEP_METRICS.steady),
    total: of(STEP_METRICS.total),
    toQuality: of(STEP_METRICS.toQuality),
    toEachQuality: of(STEP_METRICS.toEachQuality),
    atOneClock: of(CYCLES_PER_SAMPLE),
    atFastestSteps: Object.fromEntries(atFastest) as Speedups['atFastestSteps'],
    breakEven: breakEvenOf(blocks),
  }
}

/** Null where steps do not make the metric, or it was not measured so. */
export function speedupAtFastestSteps(metric: string, speedups: Speedups): PairedEstimate | null {
  const name = STEP_SPEEDUPS.find((speedup) => STEP_METRICS[speedup] === metric)
  return name === undefined ? null : speedups.atFastestSteps[name]
}

/**
 * A run of n samples takes o + n s seconds: s per sample in the steady state, and o for all else. Both variants take
 * equally long at n = (o_optimized - o_baseline) / (s_baseline - s_optimized).
 */
function breakEvenOf(blocks: readonly Block[]): BreakEven {
  const [baseline, optimized] = (['baseline', 'optimized'] as const).map((variant) => {
    const costs = blocks.flatMap((block) => costOf(block[variant]) ?? [])
    return costs.length === blocks.length ? meanCost(costs) : null
  })
  if (!baseline || !optimized) return { status: 'not-measured' }
  const extra = optimized.once - baseline.once
  const saved = (baseline.perSample - optimized.perSample) * optimized.samplesPerStep
  if (extra <= 0)
    return saved >= 0 ? { status: 'at-once' } : { status: 'until', steps: Math.floor(extra / saved) }
  if (saved <= 0) return { status: 'never' }
  const steps = Math.ceil(extra / saved)
  return Number.isFinite(steps) ? { status: 'after', steps } : { status: 'never' }
}

interface Cost {
  readonly perSample: number
  readonly once: number
  readonly samplesPerStep: number
}

function costOf({ metrics, samples, steps }: RunSummary): Cost | null {
  const [perSample, total] = [metrics[SECONDS_PER_SAMPLE], metrics[TOTAL_SECONDS]]
  if (perSample === undefined || total === undefined) return null
  return { perSample, once: total - samples * perSample, samplesPerStep: samples / steps }
}

function meanCost(costs: readonly Cost[]): Cost | null {
  if (costs.length === 0) return null
  return {
    perSample: meanOf(costs.map(({ perSample }) => perSample)),
    once: meanOf(costs.map(({ once }) => once)),
    samplesPerStep: meanOf(costs.map(({ samplesPerStep }) => samplesPerStep)),
  }
}
