// One gate's evidence against its limit: it passes on proof, and on nothing else.
import type { Gate } from '../../config/gates/gates.ts'
import type { Facts } from '../../read/facts.ts'
import { number } from '../../text/numbers.ts'
import { listed } from '../../text/wording.ts'
import type { GateComparison } from '../compare.ts'
import type { PairedEstimate } from '../paired.ts'
import { type WhyStopped, whyStoppedText } from '../why-stopped.ts'
import { closestNames } from './closest-names.ts'
import { whyOpenByFacts } from './gate-facts.ts'
import {
  comparesQuality,
  isHeldOut,
  isHeldOutQuality,
  isLevel,
  isMoreBetter,
  isQuotient,
  isSpeed,
  mustScatter,
  unitOf,
} from './gate-kind.ts'
import { atWorstRounding, isWithinOneStep, roundingText } from './rounding.ts'

export type GateStatus = 'passed' | 'failed' | 'inconclusive' | 'not-measured'

export interface GateVerdict extends GateComparison {
  readonly status: GateStatus
  readonly reason: string
  /** Open, and no further block can close it: a fact is missing, or digits are. */
  readonly staysOpen: boolean
  /** The limit of a difference is wider than a tenth of the baseline's own level, so it cannot see a bad model. */
  readonly insensitive: boolean
}

/** Of the baseline's own level: a wider limit cannot see a bad model. */
export const WIDEST_SHARE = 0.1

/** Fewer seeds than this say nothing about how losses scatter between seeds. */
export const MIN_SEEDS = 3

/** Blocks without which a comparison has no interval. */
export function fewestPairs(gate: Gate): number {
  return comparesQuality(gate) ? MIN_SEEDS : 2
}

/** Relative. A ratio comes back from its logarithm with other last digits: 3 as 2.9999999999999996. */
const ROUNDING = 1e-12

/**
 * Bounds that prove nothing are taken away, so that no report shows them. `stopped`: why there are fewer blocks
 * than planned, if there are.
 */
export function judgeGate(
  comparison: GateComparison,
  stopped: WhyStopped | null = null,
  facts: Facts | null = null,
): GateVerdict {
  const { evidence } = comparison
  const judged = {
    ...comparison,
    evidence: evidence && { ...evidence, bounds: usableBounds(comparison, evidence) },
  }
  const decision = {
    staysOpen: lacksScatter(comparison),
    ...withRounding(judged, decide(judged, stopped)),
  }
  return { ...judged, ...withFacts(judged, decision, facts), insensitive: isInsensitive(judged) }
}

interface Decision {
  readonly status: GateStatus
  readonly reason: string
  readonly staysOpen?: boolean
}

/** Takes a pass away that hangs on digits which are not there. */
function withRounding(comparison: GateComparison, decision: Decision): Decision {
  const { gate, evidence, writtenInSteps } = comparison
  if (decision.status !== 'passed' || evidence === null || writtenInSteps === null) return decision
  const { estimate, bounds } = evidence
  const good = isMoreBetter(gate) ? bounds?.lower : bounds?.upper
  const worst = atWorstRounding(comparison, gate.evidence === 'point' ? estimate : (good ?? estimate))
  if (worst === null || clears(gate, worst)) return decision
  return {
    status: 'inconclusive',
    reason: roundingText(gate, writtenInSteps),
    staysOpen: isWithinOneStep(comparison),
  }
}

/** What rests on a fact that cannot carry it is neither proven nor missed; NaN is no number of any samples. */
function withFacts<Decided extends Decision>(
  { gate, notFinite }: GateComparison,
  decision: Decided,
  facts: Facts | null,
): Decided {
  const why = facts === null ? null : whyOpenByFacts(gate, facts)
  if (why === null || notFinite.length > 0 || decision.status === 'not-measured') return decision
  return { ...decision, status: 'inconclusive', reason: why, staysOpen: true }
}

function decide(comparison: GateComparison, stopped: WhyStopped | null): Decision {
  const { gate, evidence, notFinite, look } = comparison
  if (notFinite.length > 0) return { status: 'failed', reason: notFiniteText(comparison) }
  if (evidence === null) return { status: 'not-measured', reason: whyNotMeasured(comparison) }
  const { estimate, bounds, pairs } = evidence
  if (!look.mayPass && !isLevel(gate) && (!isSpeed(gate) || gate.evidence === 'point'))
    return { status: 'inconclusive', reason: `the look after ${count(pairs)} decides gates on time alone` }
  if (gate.evidence === 'point') {
    const status = clears(gate, estimate) ? 'passed' : 'failed'
    const luck =
      comparesQuality(gate) && pairs < MIN_SEEDS ? '; with so few seeds, chance decides near the limit' : ''
    return { status, reason: `by its point estimate alone (evidence: point), over ${count(pairs)}${luck}` }
  }
  if (lacksScatter(comparison)) return { status: 'inconclusive', reason: lackOfScatter(comparison, pairs) }
  if (bounds === null) {
    const why =
      stopped !== null && stopped.planned >= fewestPairs(gate) ? whyStoppedText(stopped) : moreBlocks(gate)
    return { status: 'inconclusive', reason: `no valid interval from ${count(pairs)}; ${why}` }
  }
  if (isLevel(gate)) {
    return clears(gate, estimate)
      ? { status: 'passed', reason: 'the worst run clears the limit' }
      : { status: 'failed', reason: 'the worst run misses the limit' }
  }
  const { good, bad } = isMoreBetter(gate)
    ? { good: bounds.lower, bad: bounds.upper }
    : { good: bounds.upper, bad: bounds.lower }
  if (clears(gate, good))
    return look.mayPass
      ? { status: 'passed', reason: 'the whole interval clears the limit' }
      : { status: 'inconclusive', reason: `the look after ${count(pairs)} can only fail` }
  if (!clears(gate, bad) && look.mayFail)
    return { status: 'failed', reason: `the whole interval misses the limit after ${count(pairs)}` }
  const futile = stopped?.cause === 'futile' ? `; ${whyStoppedText(stopped)}` : ''
  return { status: 'inconclusive', reason: `the interval spans the limit after ${count(pairs)}${futile}` }
}

/** On no limit's good side: that the number is missing is proof enough. */
function notFiniteText({ gate, notFinite }: GateComparison): string {
  return `${gate.metric} came out as NaN or infinite in ${listed(notFinite, 4)}, which no limit allows`
}

function whyNotMeasured(comparison: GateComparison): string {
  const { gate, baseline, optimized, blocks, whyNoTimeToQuality } = comparison
  if (blocks === 0) return 'no block has two finished runs'
  if (whyNoTimeToQuality !== null) return whyNoTimeToQuality
  if (areBothZero(comparison)) return `every run reported ${gate.metric} as 0, so it has no ${gate.statistic}`
  if (isQuotient(gate) && baseline !== null && optimized !== null)
    return `a ${gate.statistic} needs ${gate.metric} above 0 in every run`
  return `not every run reported a usable ${gate.metric}${reportedText(comparison)}`
}

/** Of ours the names are known; of a trainer's own one, the experiment may have another than the trainer. */
function reportedText({ gate, heldOut }: GateComparison): string {
  if (!isHeldOut(gate)) return ''
  const names = closestNames(
    gate.metric,
    heldOut.filter((name) => name !== gate.metric),
  )
  return names.length === 0 ? '' : `; all reported ${listed(names, MOST_NAMES)}`
}

const MOST_NAMES = 6

/** Reported, and yet without a quotient. */
export function areBothZero({ gate, baseline, optimized }: GateComparison): boolean {
  return isQuotient(gate) && baseline === 0 && optimized === 0
}

function moreBlocks(gate: Gate): string {
  return `use at least ${fewestPairs(gate)} blocks, or accept the estimate with evidence: point`
}

function usableBounds(
  comparison: GateComparison,
  { bounds, pairs }: PairedEstimate,
): PairedEstimate['bounds'] {
  const isTooFew = comparesQuality(comparison.gate) && pairs < fewestPairs(comparison.gate)
  return isTooFew || lacksScatter(comparison) ? null : bounds
}

/**
 * The interval is as wide as the runs scatter, so numbers that never change make one without width around whatever
 * they are. Either variant's: the other one's scatter says nothing about it. So do differences that rounding leaves no scatter,
 * and runs of one seed. More runs would not help: every run reports the same value.
 */
export function lacksScatter({ gate, evidence, repeating, seedless, roundedTo }: GateComparison): boolean {
  return (
    (repeating.length > 0 || roundedTo !== null || (seedless.length > 0 && isHeldOutQuality(gate))) &&
    gate.evidence === 'interval' &&
    !isLevel(gate) &&
    mustScatter(gate) &&
    (evidence?.pairs ?? 0) >= fewestPairs(gate)
  )
}

function lackOfScatter({ gate, repeating, seedless, roundedTo }: GateComparison, pairs: number): string {
  if (repeating.length === 0 && seedless.length > 0)
    return `the first training losses of ${seedless.length === 1 ? `the ${seedless[0]}` : 'both variants'} are the same with all ${pairs} seeds, so there is no valid interval. Check that the trainer uses its seed`
  if (repeating.length === 0)
    return `${gate.metric} is reported in steps of ${number(roundedTo ?? 0)}, and the two runs differ by the same amount in all ${pairs} blocks, so there is no valid interval. Report it unrounded`
  const whose = repeating.length === 1 ? `the ${repeating[0]}` : 'both variants'
  const [where, remedy] = isHeldOut(gate)
    ? [`with all ${pairs} seeds`, 'Check that the trainer uses its seed']
    : [`in all ${pairs} runs`, 'Check that the trainer measures its seconds, and reports them unrounded']
  return `${gate.metric} of ${whose} is the same to the last digit ${where}, so there is no valid interval. ${remedy}`
}

export function clears(gate: Gate, value: number): boolean {
  return clearsInUnit(gate, value / unitOf(gate))
}

/** `value` in the unit of the limit. */
export function clearsInUnit({ direction, limit }: Gate, value: number): boolean {
  const rounding = Math.abs(limit) * ROUNDING
  if (direction === 'at_least') return value >= limit - rounding
  return direction === 'at_most' ? value <= limit + rounding : value < limit
}

function isInsensitive({ gate, baseline }: GateComparison): boolean {
  return (
    comparesQuality(gate) &&
    gate.statistic === 'difference' &&
    baseline !== null &&
    Math.abs(gate.limit) > WIDEST_SHARE * Math.abs(baseline)
  )
}

function count(pairs: number): string {
  return pairs === 1 ? '1 block' : `${pairs} blocks`
}
