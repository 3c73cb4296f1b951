// One thing about the runs that was looked at, and what was found.

import type { RunSummary } from '../../measure/summary.ts'

export interface Check {
  readonly name:
    | 'completion'
    | 'equal work'
    | 'same code'
    | 'same data'
    | 'same machine'
    | 'steady state'
    | 'clocks'
    | 'evaluation'
    | 'noise floor'
    | 'a/a'
  /** `warned` is shown with the warnings, and decides nothing. */
  readonly status: 'passed' | 'warned' | 'failed' | 'inconclusive' | 'not-measured'
  readonly detail: string
}

export function checkOf(name: Check['name'], problems: readonly string[], detail: string): Check {
  return problems.length > 0
    ? { name, status: 'failed', detail: problems.join('; ') }
    : { name, status: 'passed', detail }
}

/** Null where all runs have them. */
export function withoutStepSeconds(name: Check['name'], runs: readonly RunSummary[]): Check | null {
  return runs.some(({ facts }) => facts.step_seconds === 'unknown')
    ? { name, status: 'not-measured', detail: 'step seconds are unknown' }
    : null
}
