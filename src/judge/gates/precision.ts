// How precise a gate's evidence is: what the experiment could have detected, what it lacks, and equivalence.

import type { Gate } from '../../config/gates/gates.ts'
import { MAX_PAIRS, pairsToResolve, resolvableDistance } from '../../statistics/power.ts'
import { plausibleTruths } from '../../statistics/prediction.ts'
import { passConfidence } from '../looks/look-rule.ts'
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

/**
 * `blocks` in all would decide in 80% of experiments with this scatter; `most` if truth and scatter are as unfavorable as in
 * one case of ten, `blocks` if they are as favorable. More than `blocks` are no plan.
 */
export type ToDecide =
  | { readonly status: 'decided' }
  | { readonly status: 'within-reach'; readonly blocks: number; readonly most: number | null }
  | { readonly status: 'out-of-reach'; readonly blocks: number }

/** Null where there is no interval: then nothing is known of the scatter, nor of what it would take. */
export function precisionOf(verdict: GateVerdict): Precision | null {
  const { gate, evidence } = verdict
  if (evidence === null || evidence.bounds === null || isLevel(gate)) return null
  const deviation = standardDeviation(evidence.values)
  const distance = resolvableDistance(deviation, evidence.pairs, passConfidence(gate, evidence))
  const detectable = evidence.scale === 'log' ? shareOf(distance, gate) : distance
  if (!Number.isFinite(detectable)) return null
  return {
    detectable,
    toDecide: toDecide(verdict, evidence),
    isEquivalent: isEquivalent(verdict),
  }
}

/** Past a limit from below by more than from above: as far on the scale of logarithms is 2x and half. */
function shareOf(distance: number, gate: Gate): number {
  return isMoreBetter(gate) ? Math.expm1(distance) : -Math.expm1(-distance)
}

/** A held-out number is taken to be equal in truth; of a time and of the scatter, all that the blocks leave plausible. */
function toDecide({ gate, status }: GateVerdict, evidence: PairedEstimate): ToDecide {
  if (status !== 'inconclusive') return { status: 'decided' }
  const { values, pairs } = evidence
  const onScale = (value: number) => (evidence.scale === 'log' ? Math.log(value) : value)
  const limit = onScale(gate.limit * unitOf(gate))
  const equal = comparesQuality(gate) ? onScale(evidence.scale === 'log' ? 1 : 0) : null
  // In standard deviations, so that the most and the fewest blocks are those of the extremes.
  const distances = plausibleTruths(values)
    .map(({ mean, deviation }) => Math.abs(limit - (equal ?? mean)) / deviation)
    .sort((one, other) => one - other)
  const blocksFor = (share: number) => {
    const distance = distances[Math.floor(share * (distances.length - 1))] ?? Number.NaN
    const needed = pairsToResolve(1, distance, passConfidence(gate, evidence))
    return needed === null ? null : Math.max(needed, pairs + 1, fewestPairs(gate))
  }
  const [fewest, most] = [blocksFor(1 - PLAUSIBLE), blocksFor(PLAUSIBLE)]
  return fewest === null
    ? { status: 'out-of-reach', blocks: MAX_PAIRS }
    : { status: 'within-reach', blocks: fewest, most }
}

/** On each side so much is left out. */
const PLAUSIBLE = 0.1

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
