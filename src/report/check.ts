// What was found -> the check run on the measured commit: its name, its conclusion and its texts.
import type { Acceptance } from '../judge/acceptance.ts'
import { isWholeAcceptable, isWholeNeutral, type Whole } from '../record/whole.ts'
import { type CommentSection, fitComment } from './comment.ts'
import { oneLine } from './escape.ts'
import { renderWholeSections } from './whole.ts'

export type CheckConclusion = 'success' | 'failure' | 'neutral' | 'cancelled'

interface CheckTexts {
  readonly title: string
  readonly summary: string
  /** '' for none. */
  readonly text: string
}

export type CheckReport =
  | (CheckTexts & { readonly status: 'in_progress' })
  | (CheckTexts & { readonly status: 'completed'; readonly conclusion: CheckConclusion })

const MAX_TITLE_CHARACTERS = 150

/** `otherBase`: a base branch that is not the default one, whose gates may be weaker: it gets a check of its own. */
export function checkName(key: string, otherBase: string | null): string {
  return `Speedproof: ${key}${otherBase === null ? '' : ` (into ${otherBase})`}`
}

/**
 * GitHub lets a required check that is neutral pass, as it does one that is skipped: so only what a maintainer has
 * accepted, or the experiment lets be open, is neutral; any other open verdict, and an invalid one, is a failure.
 */
export function conclusionOf(whole: Whole, acceptance: Acceptance | null): CheckConclusion {
  if (whole.verdict === 'passed') return 'success'
  if (isAccepted(whole, acceptance) || isWholeNeutral(whole)) return 'neutral'
  const outcomes = whole.results.flatMap((result) => result.outcomes)
  return outcomes.some(({ status }) => status === 'cancelled') ? 'cancelled' : 'failure'
}

export function isAccepted(whole: Whole, acceptance: Acceptance | null): boolean {
  return acceptance !== null && isWholeAcceptable(whole)
}

/** `sections` has what is shown in the comment; the summary of a check is its first half. */
export function concludedCheck(
  whole: Whole,
  acceptance: Acceptance | null,
  sections: readonly CommentSection[] = renderWholeSections(whole),
): CheckReport {
  const { verdict, reason } = whole
  const accepted =
    acceptance !== null && isAccepted(whole, acceptance) ? `accepted by ${acceptance.login}, ` : ''
  const isInSummary = ({ kind }: CommentSection) => kind === 'verdict' || kind === 'rows' || kind === 'link'
  return {
    status: 'completed',
    conclusion: conclusionOf(whole, acceptance),
    title: titleOf(`${accepted}${verdict}: ${reason}`),
    summary: fitComment(sections.filter(isInSummary)),
    text: fitComment(sections.filter((section) => !isInSummary(section))),
  }
}

export function unjudgedCheck(
  conclusion: 'failure' | 'cancelled',
  reason: string,
  markdown: string,
): CheckReport {
  return {
    status: 'completed',
    conclusion,
    title: titleOf(`no verdict: ${reason}`),
    summary: markdown,
    text: '',
  }
}

export function checkInProgress(title: string, markdown: string): CheckReport {
  return { status: 'in_progress', title: titleOf(title), summary: markdown, text: '' }
}

function titleOf(text: string): string {
  const line = oneLine(text)
  return line.length <= MAX_TITLE_CHARACTERS
    ? line
    : `${line.slice(0, MAX_TITLE_CHARACTERS - 1).toWellFormed()}…`
}
