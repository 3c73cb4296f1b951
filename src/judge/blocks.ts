// Runs become blocks, and a metric over blocks one paired estimate.
import type { Variant } from '../config/experiment.ts'
import type { RunSummary } from '../measure/summary.ts'
import { isMeasured } from '../plan/plan.ts'
import { type BoundRule, type PairedEstimate, pairedMean, pairedRatio } from './paired.ts'

/** Two finished runs with one seed, back to back: the unit of evidence. */
export interface Block {
  readonly block: number
  readonly baseline: RunSummary
  readonly optimized: RunSummary
}

/** A block needs both of its runs. */
export function pairBlocks(runs: readonly RunSummary[]): Block[] {
  const numbers = [...new Set(runs.filter(isMeasured).map(({ block }) => block))].sort((a, b) => a - b)
  return numbers.flatMap((block) => {
    const find = (variant: Variant) => runs.find((run) => run.block === block && run.variant === variant)
    const [baseline, optimized] = [find('baseline'), find('optimized')]
    return baseline && optimized ? [{ block, baseline, optimized }] : []
  })
}

/** Null unless every run of the variant reported the metric: half a set of numbers proves nothing. */
export function valuesOf(metric: string, blocks: readonly Block[], variant: Variant): number[] | null {
  const values = blocks.flatMap((block) => block[variant].metrics[metric] ?? [])
  return values.length === blocks.length && values.length > 0 ? values : null
}

/** baseline / optimized. */
export function speedupOf(metric: string, blocks: readonly Block[], rule: BoundRule): PairedEstimate | null {
  const pairs = pairsOf(metric, blocks)?.map((pair) => ({
    numerator: pair.baseline,
    denominator: pair.optimized,
  }))
  return pairs ? pairedRatio(pairs, rule) : null
}

/** optimized / baseline. */
export function ratioOf(metric: string, blocks: readonly Block[], rule: BoundRule): PairedEstimate | null {
  const pairs = pairsOf(metric, blocks)?.map((pair) => ({
    numerator: pair.optimized,
    denominator: pair.baseline,
  }))
  return pairs ? pairedRatio(pairs, rule) : null
}

/** optimized - baseline. */
export function differenceOf(
  metric: string,
  blocks: readonly Block[],
  rule: BoundRule,
): PairedEstimate | null {
  const differences = pairsOf(metric, blocks)?.map((pair) => pair.optimized - pair.baseline)
  return differences ? pairedMean(differences, rule) : null
}

function pairsOf(metric: string, blocks: readonly Block[]) {
  const [baseline, optimized] = [valuesOf(metric, blocks, 'baseline'), valuesOf(metric, blocks, 'optimized')]
  if (baseline === null || optimized === null) return null
  return baseline.map((value, index) => ({ baseline: value, optimized: optimized[index] ?? Number.NaN }))
}
