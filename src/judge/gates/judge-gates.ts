// All gates of an experiment: each against its limit, with its precision, and insensitive ones together with the others.
import { worstFacts } from '../../read/facts.ts'
import type { VerdictInput } from '../verdict-input.ts'
import { canMoreBlocksHelp } from '../why-stopped.ts'
import { type GateVerdict, judgeGate } from './gate-verdict.ts'
import { downgradeInsensitiveGates } from './insensitive-limit.ts'
import { type Precision, precisionOf } from './precision.ts'

export interface JudgedGate extends GateVerdict {
  readonly precision: Precision | null
}

/** How many blocks would decide a gate is of its own evidence: none, where only the gate beside it is open. */
export function judgeGates({
  experiment,
  comparison,
  stopped,
  measured,
}: Pick<VerdictInput, 'experiment' | 'comparison' | 'stopped' | 'measured'>): JudgedGate[] {
  const facts = worstFacts(measured.map((run) => run.facts))
  // An A/A has nothing to decide.
  const canDecide = experiment.mode !== 'aa' && canMoreBlocksHelp(stopped)
  const judged = comparison.gates.map((gate) => {
    const verdict = judgeGate(gate, stopped, facts)
    const precision = precisionOf(verdict)
    return {
      ...verdict,
      precision:
        precision && (!canDecide || verdict.staysOpen)
          ? { ...precision, toDecide: { status: 'decided' as const } }
          : precision,
    }
  })
  return downgradeInsensitiveGates(judged)
}
