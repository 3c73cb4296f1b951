// One thing that the doctor looked for on a machine, and what was found.

export interface DoctorFinding {
  readonly subject: string
  /** `missing` keeps an experiment from running or from counting; `advice` makes its numbers better. */
  readonly status: 'ready' | 'advice' | 'missing'
  readonly detail: string
  /** Null when there is nothing to fix. */
  readonly remedy: string | null
}

export function ready(subject: string, detail: string): DoctorFinding {
  return { subject, status: 'ready', detail, remedy: null }
}

export function missing(subject: string, detail: string, remedy: string): DoctorFinding {
  return { subject, status: 'missing', detail, remedy }
}

export function isReady(findings: readonly DoctorFinding[]): boolean {
  return findings.every(({ status }) => status !== 'missing')
}
