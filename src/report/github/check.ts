// What was found -> the check run on the measured commit: its name, its conclusion and its texts.
import type { Acceptance } from '../../judge/acceptance.ts'
import { type Combined, isCombinedAcceptable, isCombinedNeutral } from '../../record/combined.ts'
import { renderCombinedSections } from '../combined.ts'
import { oneLine } from '../escape.ts'
import { type CommentSection, fitComment } from './comment.ts'

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
export function conclusionOf(combined: Combined, acceptance: Acceptance | null): CheckConclusion {
  if (combined.verdict === 'passed') return 'success'
  if (isAccepted(combined, acceptance) || isCombinedNeutral(combined)) return 'neutral'
  const outcomes = combined.results.flatMap((result) => result.outcomes)
  return outcomes.some(({ status }) => status === 'cancelled') ? 'cancelled' : 'failure'
}

export function isAccepted(combined: Combined, acceptance: Acceptance | null): boolean {
  return acceptance !== null && isCombinedAcceptable(combined)
}

/** `sections` has what is shown in the comment; the summary of a check is its first half. */
export function concludedCheck(
  combined: Combined,
  acceptance: Acceptance | null,
  sections: readonly CommentSection[] = renderCombinedSections(combined),
): CheckReport {
  const { verdict, reason } = combined
  const accepted =
    acceptance !== null && isAccepted(combined, acceptance) ? `accepted by ${acceptance.login}, ` : ''
  const isInSummary = ({ kind }: CommentSection) => kind === 'verdict' || kind === 'rows' || kind === 'link'
  return {
    status: 'completed',
    conclusion: conclusionOf(combined, acceptance),
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
