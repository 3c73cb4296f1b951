// Did every planned launch finish?
import type { NotRunReason, RunOutcome } from '../../measure/outcome.ts'
import type { VerdictInput } from '../verdict-input.ts'
import type { Check } from './check.ts'

export function checkCompletion({ outcomes }: Pick<VerdictInput, 'outcomes'>): Check {
  const notNeeded = outcomes.filter(
    (outcome) => outcome.status === 'not-run' && NOT_NEEDED[outcome.reason] !== undefined,
  )
  const needed = outcomes.length - notNeeded.length
  const finished = outcomes.filter(({ status }) => status === 'finished').length
  const failed = outcomes.filter((outcome) => outcome.status === 'failed')
  const detail = `${finished} of ${needed} launches finished${notNeededText(notNeeded)}${leftOutText(outcomes)}${cutText(outcomes)}`
  if (failed.length > 0) {
    const list = failed.map(({ run, reason, message }) => `${run.id}: ${reason} (${message})`).join('; ')
    return { name: 'completion', status: 'failed', detail: `${detail}; ${list}` }
  }
  return {
    name: 'completion',
    status: finished === needed && finished > 0 ? 'passed' : 'inconclusive',
    detail,
  }
}

function notNeededText(outcomes: readonly RunOutcome[]): string {
  const [first] = outcomes
  if (first?.status !== 'not-run') return ''
  return `; ${outcomes.length} more were ${NOT_NEEDED[first.reason]}`
}

/** After a look there may be fewer launches than planned. */
const NOT_NEEDED: Readonly<Partial<Record<NotRunReason, string>>> = {
  decided: 'not needed, because the verdict was decided',
  futile: 'not run, because they had little chance to decide',
  budget: 'not run, because the budget is spent',
}

/** Says what was known when they were skipped: another experiment may find the same runs comparable. */
function leftOutText(outcomes: readonly RunOutcome[]): string {
  const reasons = outcomes.map((outcome) => (outcome.status === 'not-run' ? outcome.reason : null))
  if (reasons.includes('failed')) return '; the rest was skipped because a launch failed'
  if (reasons.includes('incomparable')) return '; the rest was skipped because the runs could not be compared'
  return reasons.includes('unmeasured') ? '; the rest was skipped because a required gate had no number' : ''
}

/** What ended a launch from outside, and with it the experiment. */
function cutText(outcomes: readonly RunOutcome[]): string {
  return outcomes
    .flatMap((outcome) =>
      outcome.status === 'cancelled' && outcome.because !== undefined
        ? [`; ${outcome.run.id} was cut: ${outcome.because}`]
        : [],
    )
    .join('')
}
