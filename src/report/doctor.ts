// What the doctor found -> what a person reads: what is there, what is missing, and how to mend it.
import type { DoctorFinding } from '../judge/machine/doctor.ts'

const MARK = { ready: 'ok', advice: 'advice', missing: 'MISSING' } as const

export function renderDoctor(findings: readonly DoctorFinding[]): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length))
  const lines = findings.flatMap(({ subject, status, detail, remedy }) => [
    `${MARK[status].padEnd(8)} ${subject.padEnd(width)}  ${detail}`,
    ...(remedy === null ? [] : [`${' '.repeat(9 + width)}  -> ${remedy}`]),
  ])
  return [...lines, '', summary(findings)].join('\n')
}

function summary(findings: readonly DoctorFinding[]): string {
  const missing = findings.filter(({ status }) => status === 'missing').map(({ subject }) => subject)
  return missing.length === 0
    ? 'This machine has all that an experiment needs. Run speedproof plan to check an experiment.'
    : `This machine is not ready: ${missing.join(', ')}.`
}
