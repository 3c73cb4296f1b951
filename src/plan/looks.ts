// When the evidence is looked at: after which blocks an experiment may stop, and what that costs in confidence.
import type { Experiment } from '../config/experiment.ts'

/** Numbers of blocks, growing; the last is the most that is run. */
export function looksOf({ design }: Experiment): readonly number[] {
  return typeof design.blocks === 'number' ? [design.blocks] : design.blocks
}

/** Bonferroni over the looks: stopping at the first that decides still errs in at most 5% of cases. */
export function confidenceOf(experiment: Experiment): number {
  return 1 - 0.05 / looksOf(experiment).length
}
