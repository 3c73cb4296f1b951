// Plays an experiment with one gate through its looks, as the run loop would: for predictions and for calibration.
import type { Gate } from '../../config/gates/gates.ts'
import type { Look } from '../../config/looks.ts'
import { isQuotient } from '../gates/gate-kind.ts'
import { type GateStatus, judgeGate } from '../gates/gate-verdict.ts'
import { type PairedEstimate, pairedMean, pairedRatio } from '../paired.ts'
import { chanceOfDecision, LEAST_CHANCE } from './chance.ts'
import { boundRuleOf, type LookRule, lookRuleOf } from './look-rule.ts'

export interface Played {
  readonly status: GateStatus
  /** Measured when it ended. */
  readonly blocks: number
  readonly stoppedAsFutile: boolean
}

export interface PlayRules {
  readonly leastDeviation: number
  readonly stopsWhenFutile: boolean
}

/** `values`: of each block, a difference, or the logarithm of a quotient. */
export function playLooks(
  gate: Gate,
  values: readonly number[],
  looks: readonly Look[],
  { leastDeviation, stopsWhenFutile }: PlayRules,
): Played {
  let played: Played = { status: 'inconclusive', blocks: 0, stoppedAsFutile: false }
  for (const [index, look] of looks.entries()) {
    const rule = lookRuleOf(look, leastDeviation)
    const judged = judgeAlone(gate, values.slice(0, look.blocks), rule)
    const isOpen = judged.status === 'inconclusive' || (judged.status === 'passed' && !rule.mayPass)
    played = { status: judged.status, blocks: look.blocks, stoppedAsFutile: false }
    if (!isOpen) return played
    const later = looks.slice(index + 1)
    const isFutile =
      stopsWhenFutile && rule.mayPass && later.length > 0 && chanceOfDecision([judged], later) < LEAST_CHANCE
    if (isFutile) return { ...played, stoppedAsFutile: true }
  }
  return played
}

function judgeAlone(gate: Gate, values: readonly number[], look: LookRule) {
  return judgeGate({
    gate,
    baseline: null,
    optimized: null,
    evidence: evidenceOf(gate, values, look),
    blocks: values.length,
    repeating: [],
    seedless: [],
    roundedTo: null,
    writtenInSteps: null,
    heldOut: [],
    notFinite: [],
    whyNoTimeToQuality: null,
    look,
  })
}

function evidenceOf(gate: Gate, values: readonly number[], look: LookRule): PairedEstimate | null {
  const rule = boundRuleOf(gate, look)
  return isQuotient(gate)
    ? pairedRatio(
        values.map((value) => ({ numerator: Math.exp(value), denominator: 1 })),
        rule,
      )
    : pairedMean(values, rule)
}
