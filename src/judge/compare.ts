// Run summaries -> for each gate, both variants' numbers and the paired evidence.

import type { Variant } from '../config/experiment.ts'
import type { Gate } from '../config/gates.ts'
import type { RunSummary } from '../measure/summary.ts'
import { CONFIDENCE, type PairedEstimate, pairedMean, pairedRatio } from './paired.ts'

/** Two finished runs with one seed, back to back: the unit of evidence. */
export interface Block {
  readonly block: number
  readonly baseline: RunSummary
  readonly optimized: RunSummary
}

export interface GateComparison {
  readonly gate: Gate
  /** Level of each variant over its blocks; null where a run did not report the metric. */
  readonly baseline: number | null
  readonly optimized: number | null
  readonly evidence: PairedEstimate | null
}

export interface Comparison {
  readonly blocks: readonly Block[]
  readonly gates: readonly GateComparison[]
}

/** `confidence` of each one-sided bound: several looks at the data share what may go wrong between them. */
export function compare(
  runs: readonly RunSummary[],
  gates: readonly Gate[],
  confidence = CONFIDENCE,
): Comparison {
  const blocks = pairBlocks(runs)
  return { blocks, gates: gates.map((gate) => compareGate(gate, blocks, confidence)) }
}

function pairBlocks(runs: readonly RunSummary[]): Block[] {
  const numbers = [...new Set(runs.flatMap(({ block }) => (block === null ? [] : [block])))].sort(
    (a, b) => a - b,
  )
  return numbers.flatMap((block) => {
    const find = (variant: Variant) => runs.find((run) => run.block === block && run.variant === variant)
    const [baseline, optimized] = [find('baseline'), find('optimized')]
    return baseline && optimized ? [{ block, baseline, optimized }] : []
  })
}

function compareGate(gate: Gate, blocks: readonly Block[], confidence: number): GateComparison {
  const baseline = valuesOf(gate.metric, blocks, 'baseline')
  const optimized = valuesOf(gate.metric, blocks, 'optimized')
  return {
    gate,
    baseline: baseline && level(gate, baseline),
    optimized: optimized && level(gate, optimized),
    evidence:
      optimized &&
      (gate.statistic === 'maximum'
        ? maximum(optimized)
        : baseline && paired(gate, pairsOf(baseline, optimized), confidence)),
  }
}

/** Null unless every run of the variant reported the metric: half a set of numbers proves nothing. */
function valuesOf(metric: string, blocks: readonly Block[], variant: Variant): number[] | null {
  const values = blocks.flatMap((block) => block[variant].metrics[metric] ?? [])
  return values.length === blocks.length && values.length > 0 ? values : null
}

interface Pair {
  readonly baseline: number
  readonly optimized: number
}

function pairsOf(baseline: readonly number[], optimized: readonly number[]): Pair[] {
  return baseline.map((value, index) => ({ baseline: value, optimized: optimized[index] ?? Number.NaN }))
}

function paired({ statistic }: Gate, pairs: readonly Pair[], confidence: number): PairedEstimate | null {
  switch (statistic) {
    case 'speedup':
      return pairedRatio(
        pairs.map((pair) => ({ numerator: pair.baseline, denominator: pair.optimized })),
        confidence,
      )
    case 'ratio':
      return pairedRatio(
        pairs.map((pair) => ({ numerator: pair.optimized, denominator: pair.baseline })),
        confidence,
      )
    default:
      return pairedMean(
        pairs.map((pair) => pair.optimized - pair.baseline),
        confidence,
      )
  }
}

/** A maximum over all runs and ranks is what it is: it has no interval and needs none. */
function maximum(values: readonly number[]): PairedEstimate {
  const largest = Math.max(...values)
  return {
    estimate: largest,
    bounds: { lower: largest, upper: largest },
    pairs: values.length,
    confidence: 1,
  }
}

/** The level whose quotient, difference or maximum the evidence is; null past what a double holds. */
function level(gate: Gate, values: readonly number[]): number | null {
  const value = levelOf(gate, values)
  return Number.isFinite(value) ? value : null
}

/** Geometric mean for quotients, mean for differences, maximum. */
function levelOf({ statistic }: Gate, values: readonly number[]): number {
  const mean = (numbers: readonly number[]) =>
    numbers.reduce((total, value) => total + value, 0) / numbers.length
  if (statistic === 'maximum') return Math.max(...values)
  if (statistic === 'difference' || values.some((value) => value <= 0)) return mean(values)
  return Math.exp(mean(values.map(Math.log)))
}
