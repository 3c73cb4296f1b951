// A model that improves by more than it may get worse: another training, or a gate that takes worse for better.
import type { Gate } from '../../config/gates/gates.ts'
import { hasUncheckedDirection, isHeldOutQuality, isMoreBetter, unitOf } from '../gates/gate-kind.ts'
import type { GateVerdict } from '../gates/gate-verdict.ts'
import type { Warning } from './warning.ts'

export const suspiciousImprovementWarnings: Warning<'experiment' | 'gates'> = ({
  experiment: { kind },
  gates,
}) => {
  const improved = gates.filter(isBeyondMargin).map(({ gate }) => gate)
  const names = improved
    .filter((gate) => isHeldOutQuality(gate) && !hasUncheckedDirection(gate))
    .map(({ name }) => name)
  return [
    ...improved.filter(hasUncheckedDirection).map(directionText),
    ...(names.length > 0 && kind !== 'recipe'
      ? [
          `${names.join(', ')} improved by more than the limit over the whole interval, so the variants may differ in more than speed. Check that both are the same training`,
        ]
      : []),
  ]
}

function directionText(gate: Gate): string {
  const [is, taken, other, side] = isMoreBetter(gate)
    ? (['higher', 'more', 'less', 'at_most'] as const)
    : (['lower', 'less', 'more', 'at_least'] as const)
  return `${gate.name}: ${gate.metric} is ${is} by more than the limit, and the gate counts ${taken} as better. If ${other} is better, use ${side}`
}

/** On proof, as a gate passes: a lucky estimate is no reason to doubt an experiment, unless it lets the gate pass. */
function isBeyondMargin({ gate, evidence }: GateVerdict): boolean {
  if (evidence === null) return false
  const { estimate, bounds } = evidence
  const isMore = isMoreBetter(gate)
  const isEstimate = gate.evidence === 'point' && hasUncheckedDirection(gate)
  const value = isEstimate ? estimate : isMore ? bounds?.lower : bounds?.upper
  const [equal, margin] =
    gate.statistic === 'difference' ? [0, -gate.limit * unitOf(gate)] : [1, 1 / gate.limit]
  // Of a gate that demands an improvement, one is no surprise.
  if (value === undefined || (isMore ? margin <= equal : margin >= equal)) return false
  return isMore ? value > margin : value < margin
}
