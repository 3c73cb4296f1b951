// Everything one call was asked: a result for each experiment, and one verdict over all of them.
import { isAcceptable, isMissed, isNeutral } from '../judge/acceptance.ts'
import type { VerdictName } from '../judge/verdict.ts'
import type { Result } from './result.ts'

export interface Combined {
  /** Of all experiments, in the order in which they were named. */
  readonly name: string
  readonly verdict: VerdictName
  readonly reason: string
  /** At least one. */
  readonly results: readonly Result[]
}

/** The worst decides, since every question has to be answered well. */
const WORST_FIRST: readonly VerdictName[] = ['failed', 'invalid', 'inconclusive', 'passed']

export function combine(results: readonly Result[]): Combined {
  const verdicts = results.map(({ verdict }) => verdict)
  const [only] = verdicts
  if (only === undefined) throw new Error('no result to report')
  const decisive = WORST_FIRST.find((name) => verdicts.some(({ verdict }) => verdict === name)) ?? 'invalid'
  return {
    name: nameOf(results.map(({ experiment }) => experiment)),
    verdict: decisive,
    reason: results.length === 1 ? only.reason : reasonsText(results, decisive),
    results,
  }
}

/** Of one call, before it has results too. */
export function nameOf(experiments: readonly { readonly name: string }[]): string {
  return experiments.map(({ name }) => name).join('+')
}

/** What decided comes with its reason, the others with their verdict. */
function reasonsText(results: readonly Result[], decisive: VerdictName): string {
  return results
    .map(({ experiment, verdict: { verdict, reason } }) =>
      verdict === decisive ? `${experiment.name} ${verdict}: ${reason}` : `${experiment.name} ${verdict}`,
    )
    .join('; ')
}

/** Everything that did not pass has to be of the kind that a maintainer may accept. */
export function isCombinedAcceptable({ results }: Combined): boolean {
  const open = results.map(({ verdict }) => verdict).filter(({ verdict }) => verdict !== 'passed')
  return open.length > 0 && open.every(isAcceptable)
}

/** Required gates that were missed or are open; of several experiments each with the name of its own. */
export function missedGates({ results }: Combined): string[] {
  return results.flatMap(({ experiment, verdict }) =>
    verdict.gates
      .filter(isMissed)
      .map(({ gate }) => (results.length === 1 ? gate.name : `${experiment.name}:${gate.name}`)),
  )
}

/** Everything that did not pass is open, and its experiment lets it be. */
export function isCombinedNeutral({ results }: Combined): boolean {
  const open = results.filter(({ verdict }) => verdict.verdict !== 'passed')
  return open.length > 0 && open.every(({ experiment, verdict }) => isNeutral(experiment, verdict))
}

/** Was something cut off that --resume goes on with? It refuses a launch that failed and counts. */
export function canGoOn({ results }: Combined): boolean {
  return results.some(isInterrupted) && !results.some(hasFailedLaunch)
}

function isInterrupted({ outcomes, reevaluation }: Result): boolean {
  return (
    outcomes.some(({ status, reason }) => status === 'cancelled' || reason === 'stopped') ||
    reevaluation?.result.status === 'cancelled'
  )
}

function hasFailedLaunch({ outcomes }: Result): boolean {
  return outcomes.some(({ status, setAside }) => status === 'failed' && setAside === null)
}
