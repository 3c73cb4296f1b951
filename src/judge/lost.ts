// Can the runs still become comparable? Where not, no further launch is worth its time.
import { MIN_RUNS_TO_TELL } from '../measure/steady-state.ts'
import type { RunSummary } from '../measure/summary.ts'
import type { Check } from './validity.ts'

/** What one run is, or two differ in, stays so however many follow. */
const FINAL: ReadonlySet<Check['name']> = new Set(['equal work', 'same code', 'same machine', 'clocks'])

interface Judged {
  readonly runs: readonly RunSummary[]
  readonly verdict: { readonly checks: readonly Check[] }
}

export function isLost({ runs, verdict: { checks } }: Judged): boolean {
  const measured = runs.filter(({ block }) => block !== null)
  // By so few runs there is no trend and no change point: what is missing are steps.
  const isShort = measured.length < MIN_RUNS_TO_TELL
  return checks.some(
    ({ name, state }) => state === 'failed' && (FINAL.has(name) || (name === 'steady state' && isShort)),
  )
}
