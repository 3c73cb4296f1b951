// Both runs of a block have one seed, so they should start from the same weights with the same data.
import type { Experiment } from '../config/experiment.ts'
import type { RunSummary } from '../measure/summary.ts'
import { number } from '../text/numbers.ts'

/** Relative: rounding to bf16 parts first losses by at most 0.31% in `benchmarks/gate`, other seeds mostly by more. */
const MOST_APART = 0.01

/** A warning, since a loss may be of other terms or points in one variant. A recipe changes those on purpose. */
export function startWarnings({ kind }: Experiment, runs: readonly RunSummary[]): string[] {
  if (kind === 'recipe') return []
  const apart = runs.flatMap((optimized) => {
    const baseline = runs.find(({ block, variant }) => block === optimized.block && variant === 'baseline')
    const [one, other] = [baseline?.firstTrainLosses[0], optimized.firstTrainLosses[0]]
    if (one === undefined || other === undefined) return []
    return Math.abs(other - one) > MOST_APART * Math.abs(one) ? [{ block: optimized.block, one, other }] : []
  })
  const [first] = apart
  return first
    ? [
        `block ${first.block}: the first training losses are ${number(first.one)} and ${number(first.other)}, over 1% apart with one seed; do both variants start from the same weights and data, and keep nothing from earlier launches?`,
      ]
    : []
}
