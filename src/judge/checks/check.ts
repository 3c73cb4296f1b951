// One thing about the runs that was looked at, and what was found.

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
  readonly status: 'passed' | 'failed' | 'inconclusive' | 'not-measured'
  readonly detail: string
}

export function checkOf(name: Check['name'], problems: readonly string[], detail: string): Check {
  return problems.length > 0
    ? { name, status: 'failed', detail: problems.join('; ') }
    : { name, status: 'passed', detail }
}
