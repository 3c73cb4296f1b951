// The speedups of an experiment, and how long a training must be for its set-up to pay off.
import type { RunSummary } from '../measure/summary.ts'
import { meanOf } from '../statistics/averages.ts'
import { type Block, speedupOf } from './blocks.ts'
import type { PairedEstimate } from './paired.ts'

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
  readonly atFastestSteps: Readonly<
    Record<'steady' | 'total' | 'gpuHours' | 'toQuality' | 'toEachQuality', PairedEstimate | null>
  >
  readonly breakEven: BreakEven
}

/** The optimized training is ahead of the baseline from this optimizer step on, in spite of its set-up, or up to it. */
export type BreakEven =
  | { readonly kind: 'at once' }
  | { readonly kind: 'after'; readonly steps: number }
  | { readonly kind: 'until'; readonly steps: number }
  | { readonly kind: 'never' }
  | { readonly kind: 'not measured' }

export function speedupsOf(blocks: readonly Block[], confidence: number): Speedups {
  return {
    steady: speedupOf('seconds_per_sample', blocks, confidence),
    total: speedupOf('total_seconds', blocks, confidence),
    toQuality: speedupOf('time_to_quality_seconds', blocks, confidence),
    toEachQuality: speedupOf('time_to_each_quality_seconds', blocks, confidence),
    atOneClock: speedupOf('sm_cycles_per_sample', blocks, confidence),
    atFastestSteps: {
      steady: speedupOf('seconds_per_sample_at_fastest_steps', blocks, confidence),
      total: speedupOf('total_seconds_at_fastest_steps', blocks, confidence),
      gpuHours: speedupOf('gpu_hours_at_fastest_steps', blocks, confidence),
      toQuality: speedupOf('time_to_quality_seconds_at_fastest_steps', blocks, confidence),
      toEachQuality: speedupOf('time_to_each_quality_seconds_at_fastest_steps', blocks, confidence),
    },
    breakEven: breakEvenOf(blocks),
  }
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
  if (!baseline || !optimized) return { kind: 'not measured' }
  const extra = optimized.once - baseline.once
  const saved = (baseline.perSample - optimized.perSample) * optimized.samplesPerStep
  if (extra <= 0)
    return saved >= 0 ? { kind: 'at once' } : { kind: 'until', steps: Math.floor(extra / saved) }
  if (saved <= 0) return { kind: 'never' }
  const steps = Math.ceil(extra / saved)
  return Number.isFinite(steps) ? { kind: 'after', steps } : { kind: 'never' }
}

interface Cost {
  readonly perSample: number
  readonly once: number
  readonly samplesPerStep: number
}

function costOf({ secondsPerSample, totalSeconds, samples, steps }: RunSummary): Cost | null {
  if (secondsPerSample === null) return null
  const once = totalSeconds - samples * secondsPerSample
  return { perSample: secondsPerSample, once, samplesPerStep: samples / steps }
}

function meanCost(costs: readonly Cost[]): Cost | null {
  if (costs.length === 0) return null
  return {
    perSample: meanOf(costs.map(({ perSample }) => perSample)),
    once: meanOf(costs.map(({ once }) => once)),
    samplesPerStep: meanOf(costs.map(({ samplesPerStep }) => samplesPerStep)),
  }
}
