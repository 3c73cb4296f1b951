// Which verdicts a maintainer may accept: those in which only gates are open or missed.
import type { Experiment } from '../config/experiment.ts'
import type { JudgedGate } from './gates/judge-gates.ts'
import type { Verdict } from './verdict.ts'

/** Somebody with write access who takes responsibility for one verdict in spite of its gates. */
export interface Acceptance {
  readonly login: string
  readonly reason: string
  readonly url: string
}

/** A failed launch, and runs that cannot be compared, say nothing that could be accepted. */
export function isAcceptable({ verdict, checks, gates }: Verdict): boolean {
  if (verdict !== 'failed' && verdict !== 'inconclusive') return false
  // An acceptance names the gates that it is for.
  if (!gates.some(isMissed)) return false
  return checks.every(({ status }) => status !== 'failed' && status !== 'inconclusive')
}

/** Of the required gates: missed or open. */
export function isMissed({ gate, status }: Pick<JudgedGate, 'gate' | 'status'>): boolean {
  return gate.severity === 'required' && status !== 'passed'
}

/**
 * Only gates are open, and the experiment says that this is no reason to stop anybody. After a look that cannot pass they
 * are open by its rule, whatever was measured.
 */
export function isNeutral({ inconclusive }: Experiment, verdict: Verdict): boolean {
  const isOpen = verdict.verdict === 'inconclusive' && verdict.mayPass
  return inconclusive === 'neutral' && isOpen && isAcceptable(verdict)
}
