// What is wrong with the machine, or with the comparison, makes a verdict invalid; what is right proves nothing.
import type { Verdict } from '../verdict.ts'
import type { MachineCheck } from './machine-check.ts'

export function withMachine(verdict: Verdict, checks: readonly MachineCheck[]): Verdict {
  const details = (wanted: MachineCheck['status']) =>
    checks.filter(({ status }) => status === wanted).map(({ name, detail }) => `${name}: ${detail}`)
  const warnings = [...verdict.warnings, ...details('warned')]
  return asInvalid({ ...verdict, warnings }, details('failed'))
}

/** A launch that failed stays the reason. */
export function asInvalid(verdict: Verdict, reasons: readonly string[]): Verdict {
  const hasFailedLaunch = verdict.checks.some(
    ({ name, status }) => name === 'completion' && status === 'failed',
  )
  if (reasons.length === 0 || hasFailedLaunch) return verdict
  const earlier = verdict.verdict === 'invalid' ? [verdict.reason] : []
  return { ...verdict, verdict: 'invalid', reason: [...earlier, ...reasons].join('; ') }
}
