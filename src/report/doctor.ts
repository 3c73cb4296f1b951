// What the doctor found -> what a person reads: what is there, what is missing, and how to mend it.

export interface DoctorFinding {
  readonly subject: string
  /** `missing` keeps an experiment from running or from counting; `advice` makes its numbers better. */
  readonly state: 'ready' | 'advice' | 'missing'
  readonly detail: string
  /** Null when there is nothing to mend. */
  readonly remedy: string | null
}

export function ready(subject: string, detail: string): DoctorFinding {
  return { subject, state: 'ready', detail, remedy: null }
}

export function missing(subject: string, detail: string, remedy: string): DoctorFinding {
  return { subject, state: 'missing', detail, remedy }
}

const MARK = { ready: 'ok', advice: 'advice', missing: 'MISSING' } as const

export function isReady(findings: readonly DoctorFinding[]): boolean {
  return findings.every(({ state }) => state !== 'missing')
}

export function renderDoctor(findings: readonly DoctorFinding[]): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length))
  const lines = findings.flatMap(({ subject, state, detail, remedy }) => [
    `${MARK[state].padEnd(8)} ${subject.padEnd(width)}  ${detail}`,
    ...(remedy === null ? [] : [`${' '.repeat(9 + width)}  -> ${remedy}`]),
  ])
  return [...lines, '', summary(findings)].join('\n')
}

function summary(findings: readonly DoctorFinding[]): string {
  const missing = findings.filter(({ state }) => state === 'missing').map(({ subject }) => subject)
  return missing.length === 0
    ? 'This machine has all that an experiment needs.'
    : `This machine is not ready: ${missing.join(', ')}.`
}
