// What is wrong with the machine makes a verdict invalid; what is right with it proves nothing.
import type { MachineCheck } from './machine-check.ts'
import type { Verdict } from './verdict.ts'

/** A launch that failed stays the reason, whatever the machine did. */
export function withMachine(verdict: Verdict, checks: readonly MachineCheck[]): Verdict {
  const broken = checks.filter(({ state }) => state === 'failed')
  const hasFailedLaunch = verdict.checks.some(
    ({ name, state }) => name === 'completion' && state === 'failed',
  )
  const warnings = [
    ...verdict.warnings,
    ...checks.filter(({ state }) => state === 'warned').map(({ name, detail }) => `${name}: ${detail}`),
  ]
  if (broken.length === 0 || hasFailedLaunch) return { ...verdict, warnings }
  const reasons = broken.map(({ name, detail }) => `${name}: ${detail}`)
  const earlier = verdict.verdict === 'invalid' ? [verdict.reason] : []
  return { ...verdict, verdict: 'invalid', reason: [...earlier, ...reasons].join('; '), warnings }
}
