// Both runs of a block have one seed: they start from the same weights and data, and one training ends as one model.
import type { RunSummary } from '../../measure/summary.ts'
import { HELD_OUT_LOSS } from '../../metrics/catalogue.ts'
import { number } from '../../text/numbers.ts'
import type { Warning } from './warning.ts'

/** Relative: rounding to bf16 parts first losses by at most 0.31% in `benchmarks/records/gate`, other seeds mostly by more. */
const MAX_DIFFERENCE = 0.01

/** Relative: so much may an evaluation round otherwise. */
const SAME_MODEL = 1e-3

/** Warnings, since a loss may be of other terms or points in one variant. A recipe changes those on purpose. */
export const sameSeedWarnings: Warning<'experiment' | 'measured'> = ({
  experiment: { kind },
  measured: runs,
}) => {
  if (kind === 'recipe') return []
  const pairs = runs.flatMap((optimized) => {
    const baseline = runs.find((run) => run.block === optimized.block && run.variant === 'baseline')
    return baseline && optimized.variant === 'optimized' ? [{ baseline, optimized }] : []
  })
  return [...firstOf(pairs, startWarning), ...firstOf(pairs, endWarning)]
}

interface Pair {
  readonly baseline: RunSummary
  readonly optimized: RunSummary
}

function firstOf(pairs: readonly Pair[], warningOf: (pair: Pair) => string | null): string[] {
  return pairs.flatMap((pair) => warningOf(pair) ?? []).slice(0, 1)
}

function startWarning({ baseline, optimized }: Pair): string | null {
  const [one] = baseline.firstTrainLosses
  const [other] = optimized.firstTrainLosses
  // Without it, one of them does not report the loss of every step, and these may be of different ones.
  return optimized.sameSeed !== null && areApart(one, other, MAX_DIFFERENCE)
    ? `block ${optimized.block}: the first training losses are ${texts(one, other)}, over 1% apart with one seed. Do both variants start from the same weights and data? Does one keep something from an earlier launch?`
    : null
}

function endWarning({ baseline, optimized }: Pair): string | null {
  const [one, other] = [baseline.metrics[HELD_OUT_LOSS], optimized.metrics[HELD_OUT_LOSS]]
  // One loss in all steps is no loss of a training.
  const isLoss = new Set(optimized.firstTrainLosses).size > 1
  return isLoss && optimized.sameSeed?.firstDivergentStep === null && areApart(one, other, SAME_MODEL)
    ? `block ${optimized.block}: all training losses agree to the last bit, but the held-out losses are ${texts(one, other)}. Check that both variants are evaluated on the same data and weights`
    : null
}

function areApart(one: number | undefined, other: number | undefined, most: number): one is number {
  return one !== undefined && other !== undefined && Math.abs(other - one) > most * Math.abs(one)
}

function texts(one: number | undefined, other: number | undefined): string {
  return [one, other].map((loss) => number(loss ?? Number.NaN)).join(' and ')
}
