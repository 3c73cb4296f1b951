// One gate's evidence against its limit: it passes on proof, and on nothing else.
import type { Gate } from '../config/gates.ts'
import type { GateComparison } from './compare.ts'
import type { PairedEstimate } from './paired.ts'

export type GateState = 'passed' | 'failed' | 'inconclusive' | 'not measured'

export interface GateVerdict extends GateComparison {
  readonly state: GateState
  readonly reason: string
  /** The limit is wider than a tenth of the baseline's own level, so it cannot see a bad model. */
  readonly insensitive: boolean
}

/** Fewer seeds than this say nothing about how losses scatter between seeds. */
const MIN_SEEDS = 3

export function judgeGate(comparison: GateComparison): GateVerdict {
  return { ...comparison, ...decide(comparison), insensitive: isInsensitive(comparison) }
}

function decide({ gate, evidence }: GateComparison): { state: GateState; reason: string } {
  if (evidence === null)
    return { state: 'not measured', reason: `not every run reported a usable ${gate.metric}` }
  const { estimate, pairs } = evidence
  const bounds = usableBounds(gate, evidence)
  if (gate.evidence === 'point') {
    const state = clears(gate, estimate) ? 'passed' : 'failed'
    return { state, reason: `by its point estimate alone (evidence: point), over ${count(pairs)}` }
  }
  if (bounds === null) {
    return {
      state: 'inconclusive',
      reason: `${count(pairs)} give no honest interval; use more blocks, or accept the estimate with evidence: point`,
    }
  }
  const { good, bad } =
    gate.direction === 'at_least'
      ? { good: bounds.lower, bad: bounds.upper }
      : { good: bounds.upper, bad: bounds.lower }
  if (clears(gate, good)) return { state: 'passed', reason: 'the whole interval clears the limit' }
  if (!clears(gate, bad)) return { state: 'failed', reason: 'the whole interval misses the limit' }
  return { state: 'inconclusive', reason: `the interval spans the limit after ${count(pairs)}` }
}

function usableBounds(gate: Gate, { bounds, pairs }: PairedEstimate): PairedEstimate['bounds'] {
  const comparesQuality = gate.statistic === 'difference' || gate.statistic === 'ratio'
  return comparesQuality && pairs < MIN_SEEDS ? null : bounds
}

function clears({ direction, limit, metric }: Gate, value: number): boolean {
  const scaled = value / unitOf(metric)
  if (direction === 'at_least') return scaled >= limit
  return direction === 'at_most' ? scaled <= limit : scaled < limit
}

/** Memory limits are written in GB (1e9 bytes); every other limit is in the metric's own unit. */
export function unitOf(metric: string): number {
  return metric.endsWith('_bytes') ? 1e9 : 1
}

function isInsensitive({ gate, baseline }: GateComparison): boolean {
  return gate.statistic === 'difference' && baseline !== null && gate.limit > 0.1 * Math.abs(baseline)
}

function count(pairs: number): string {
  return pairs === 1 ? '1 block' : `${pairs} blocks`
}
