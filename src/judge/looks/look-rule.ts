// What a look may decide, and with which bounds.
import type { Gate } from '../../config/gates/gates.ts'
import type { Look } from '../../config/looks.ts'
import { confidenceOf, mayPassAt } from '../../plan/looks.ts'
import { isMoreBetter, isSpeed } from '../gates/gate-kind.ts'
import { type BoundRule, bothAt, type PairedEstimate } from '../paired.ts'

export interface LookRule {
  /** An early look can only fail, and only gates on time. */
  readonly mayPass: boolean
  readonly mayFail: boolean
  /** Of the bound that passes a gate, and of the one that fails it. */
  readonly confidence: { readonly pass: number; readonly fail: number }
  /** Of ln(speedup) per block: at an early look a gate on time is taken to scatter at least so. */
  readonly leastDeviation: number
}

export const LOOK_AT_95: LookRule = {
  mayPass: true,
  mayFail: true,
  confidence: { pass: 0.95, fail: 0.95 },
  leastDeviation: 0,
}

export function lookRuleOf(look: Look, leastDeviation: number): LookRule {
  return {
    mayPass: mayPassAt(look),
    mayFail: look.fail_level > 0,
    confidence: confidenceOf(look),
    leastDeviation,
  }
}

export function boundRuleOf(gate: Gate, { confidence, mayPass, leastDeviation }: LookRule): BoundRule {
  const { pass, fail } = confidence
  return {
    confidence: isMoreBetter(gate) ? { lower: pass, upper: fail } : { lower: fail, upper: pass },
    leastDeviation: !mayPass && isSpeed(gate) ? leastDeviation : 0,
  }
}

/** Of evidence that belongs to no gate. */
export function boundRuleBeside({ confidence: { pass } }: LookRule): BoundRule {
  return bothAt(pass)
}

/** Of the bound that passes the gate. */
export function passConfidence(gate: Gate, { confidence }: PairedEstimate): number {
  return isMoreBetter(gate) ? confidence.lower : confidence.upper
}

/** Of the bound that fails the gate. */
export function failConfidence(gate: Gate, { confidence }: PairedEstimate): number {
  return isMoreBetter(gate) ? confidence.upper : confidence.lower
}
