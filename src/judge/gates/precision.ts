// How precise a gate's evidence is: what the experiment could have detected, what it lacks, and equivalence.

import type { Gate } from '../../config/gates/gates.ts'
import { MAX_PAIRS, pairsToResolve, resolvableDistance } from '../../statistics/power.ts'
import { type PairedEstimate, standardDeviation } from '../paired.ts'
import { comparesQuality, isHeldOutQuality, isLevel, isMoreBetter, unitOf } from './gate-kind.ts'
import { fewestPairs, type GateVerdict } from './gate-verdict.ts'

export interface Precision {
  /**
   * Minimal detectable effect: a truth this far on the good side of the limit passes in 80% of experiments like this
   * one. A share of the limit for ratios (0.02 is 2%), in the metric's unit for differences.
   */
  readonly detectable: number
  /** What an inconclusive gate lacks. */
  readonly toDecide: ToDecide
  /** Held-out numbers alone: does the whole interval lie within the limit on both sides? */
  readonly isEquivalent: boolean | null
}

/** `blocks` in all would decide in 80% of experiments with this scatter; more than `blocks` are no plan. */
export type ToDecide =
  | { readonly status: 'decided' }
  | { readonly status: 'within-reach'; readonly blocks: number }
  | { readonly status: 'out-of-reach'; readonly blocks: number }

/** Null where there is no interval: then nothing is known of the scatter, nor of what it would take. */
export function precisionOf(verdict: GateVerdict): Precision | null {
  const { gate, evidence } = verdict
  if (evidence === null || evidence.bounds === null || isLevel(gate)) return null
  const deviation = standardDeviation(evidence.values)
  const distance = resolvableDistance(deviation, evidence.pairs, evidence.confidence)
  const detectable = evidence.scale === 'log' ? shareOf(distance, gate) : distance
  if (!Number.isFinite(detectable)) return null
  return {
    detectable,
    toDecide: toDecide(verdict, evidence, deviation),
    isEquivalent: isEquivalent(verdict),
  }
}

/** Past a limit from below by more than from above: as far on the scale of logarithms is 2x and half. */
function shareOf(distance: number, gate: Gate): number {
  return isMoreBetter(gate) ? Math.expm1(distance) : -Math.expm1(-distance)
}

/** For a held-out number as if both models were equal; for a time as if the estimate were the truth. */
function toDecide({ gate, status }: GateVerdict, evidence: PairedEstimate, deviation: number): ToDecide {
  if (status !== 'inconclusive') return { status: 'decided' }
  const onScale = (value: number) => (evidence.scale === 'log' ? Math.log(value) : value)
  const limit = onScale(gate.limit * unitOf(gate))
  const truth = comparesQuality(gate) ? onScale(evidence.scale === 'log' ? 1 : 0) : onScale(evidence.estimate)
  const pairs = pairsToResolve(deviation, Math.abs(limit - truth), evidence.confidence)
  return pairs === null
    ? { status: 'out-of-reach', blocks: MAX_PAIRS }
    : { status: 'within-reach', blocks: Math.max(pairs, evidence.pairs + 1, fewestPairs(gate)) }
}

/**
 * Two one-sided tests: both reject exactly when the interval of both bounds lies within the margins. Source:
 * Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.
 */
function isEquivalent({ gate, evidence }: GateVerdict): boolean | null {
  if (!comparesQuality(gate) || !isHeldOutQuality(gate) || !evidence?.bounds) return null
  const { lower, upper } = evidence.bounds
  const limit = Math.abs(gate.limit)
  if (evidence.scale === 'linear') return lower > -limit && upper < limit
  const widest = Math.max(limit, 1 / limit)
  return lower > 1 / widest && upper < widest
}
