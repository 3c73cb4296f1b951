// An experiment -> the ordered runs: warm-up launches, then balanced blocks.
import type { Experiment, Variant } from '../config/experiment.ts'
import { looksOf } from './looks.ts'

export interface PlannedRun {
  /** Also the name of its folder under runs/. */
  readonly id: string
  readonly purpose: 'warm-up' | 'measured'
  readonly variant: Variant
  /** 1, 2, ... for measured runs; null for warm-up launches. */
  readonly block: number | null
  readonly seed: number
  /** Id of the first attempt, which the machine disturbed; null for a first attempt itself. */
  readonly repeats: string | null
}

/** Warm-up launches prepare the machine and count for nothing. */
export function isMeasured<Run extends Pick<PlannedRun, 'purpose' | 'block'>>(
  run: Run,
): run is Run & { readonly purpose: 'measured'; readonly block: number } {
  return run.purpose === 'measured'
}

/** The order flips from block to block (B O | O B | ...), so that a linear drift of the machine cancels over an even number. */
export function planRuns(experiment: Experiment): PlannedRun[] {
  const { design } = experiment
  const warmUps = Array.from({ length: design.warm_up_launches }, () => order(1)).flat()
  const blocks = Array.from({ length: looksOf(experiment).at(-1) ?? 0 }, (_, index) => index + 1)
  const runs = [
    ...warmUps.map((variant) => ({ purpose: 'warm-up' as const, variant, block: null, seed: design.seed })),
    ...blocks.flatMap((block) =>
      order(block).map((variant) => ({
        purpose: 'measured' as const,
        variant,
        block,
        seed: design.seed + block,
      })),
    ),
  ]
  const digits = Math.max(2, String(runs.length).length)
  return runs.map((run, index) => ({
    id: runId(String(index + 1).padStart(digits, '0'), run),
    ...run,
    repeats: null,
  }))
}

/** In its own folder, next to that of the first attempt. */
export function repeatOf(run: PlannedRun): PlannedRun {
  return { ...run, id: `${run.id}-repeat`, repeats: run.id }
}

/** After all others, for the eye alone. */
export function tracedRun(variant: Variant, seed: number): PlannedRun {
  return { id: `traced-${variant}`, purpose: 'warm-up', variant, block: null, seed, repeats: null }
}

function order(block: number): readonly Variant[] {
  return block % 2 === 1 ? ['baseline', 'optimized'] : ['optimized', 'baseline']
}

/** Starts with its position in equally many digits, so that folders sort in the order of the runs. */
function runId(position: string, run: Omit<PlannedRun, 'id' | 'repeats'>): string {
  const place = isMeasured(run) ? `block-${run.block}` : run.purpose
  return `${position}-${place}-${run.variant}`
}

/** A run as a person reads it: "block 2, optimized", "block 2, optimized, repeat". */
export function runTitle(run: PlannedRun): string {
  const place = isMeasured(run) ? `block ${run.block}` : run.purpose
  return `${place}, ${run.variant}${run.repeats === null ? '' : ', repeat'}`
}
