// Which verdicts a maintainer may accept: those in which only gates are open or missed.
import type { Experiment } from '../config/experiment.ts'
import type { Verdict } from './verdict.ts'

/** Somebody with write access who takes responsibility for one verdict in spite of its gates. */
export interface Acceptance {
  readonly login: string
  readonly reason: string
  readonly url: string
}

/** A failed launch, and runs that cannot be compared, say nothing that could be accepted. */
export function isAcceptable({ verdict, checks }: Verdict): boolean {
  if (verdict !== 'failed' && verdict !== 'inconclusive') return false
  return checks.every(({ status }) => status === 'passed' || status === 'not-measured')
}

/** Only gates are open, and the experiment says that this is no reason to stop anybody. */
export function isNeutral({ inconclusive }: Experiment, verdict: Verdict): boolean {
  return inconclusive === 'neutral' && verdict.verdict === 'inconclusive' && isAcceptable(verdict)
}
