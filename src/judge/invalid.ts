// What makes the comparison worthless makes a verdict invalid, whatever its gates say.
import type { Verdict } from './verdict.ts'

/** A launch that failed stays the reason. */
export function asInvalid(verdict: Verdict, reasons: readonly string[]): Verdict {
  const hasFailedLaunch = verdict.checks.some(
    ({ name, state }) => name === 'completion' && state === 'failed',
  )
  if (reasons.length === 0 || hasFailedLaunch) return verdict
  const earlier = verdict.verdict === 'invalid' ? [verdict.reason] : []
  return { ...verdict, verdict: 'invalid', reason: [...earlier, ...reasons].join('; ') }
}
