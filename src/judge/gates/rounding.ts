// A held-out number with fewer digits than its limit needs: what was rounded away may lie beyond the limit.
import type { Gate } from '../../config/gates/gates.ts'
import { number } from '../../text/numbers.ts'
import type { GateComparison } from '../compare.ts'
import { comparesQuality, isHeldOutQuality, isMoreBetter } from './gate-kind.ts'

/** The value as bad as it may be in truth, given that each of the two numbers is off by up to half a step; null without steps. */
export function atWorstRounding(comparison: GateComparison, value: number): number | null {
  const { gate, writtenInSteps: step, baseline, optimized } = comparison
  if (step === null || !comparesQuality(gate) || !isHeldOutQuality(gate)) return null
  const sign = isMoreBetter(gate) ? -1 : 1
  if (gate.statistic === 'difference') return value + sign * step
  if (!baseline || !optimized) return null
  return value * (1 + (sign * step * (1 / Math.abs(baseline) + 1 / Math.abs(optimized))) / 2)
}

/** With equal models the gate would still be open: no number of blocks closes it. */
export function isWithinOneStep(comparison: GateComparison): boolean {
  const { gate } = comparison
  const equal = gate.statistic === 'difference' ? 0 : 1
  const worst = atWorstRounding(comparison, equal)
  const margin = Math.abs(gate.limit - equal)
  return worst !== null && margin > 0 && Math.abs(worst - equal) >= margin
}

export function roundingText({ metric }: Gate, step: number): string {
  return `${metric} is reported in steps of ${number(step)}, too coarse for the limit: the change that was rounded away may miss it. Report it unrounded`
}
