// Shows a result on GitHub: the comment on the pull request and the check run on the measured commit.
import type { Acceptance } from '../../../judge/acceptance.ts'
import { type Combined, isCombinedAcceptable, missedGates } from '../../../record/combined.ts'
import { renderCombinedSections } from '../../../report/combined.ts'
import { type CheckReport, concludedCheck, isAccepted } from '../../../report/github/check.ts'
import { type CommentSection, fitComment } from '../../../report/github/comment.ts'
import { acceptanceSection, type Links, linkSection, staleSection } from '../../../report/github/sections.ts'
import { explainGitHubError } from '../api-error.ts'
import { callGitHub, type Repository } from '../client.ts'
import { findAcceptance } from '../event/acceptance.ts'
import { type CheckOutcome, upsertCheck } from './check-run.ts'
import { type CommentOutcome, upsertComment } from './comment.ts'

/** Where a result belongs. */
export interface Place extends Repository {
  readonly token: string
  readonly key: string
  readonly checkName: string
  /** The commit that was measured. */
  readonly headSha: string
  readonly runId: number
  readonly runAttempt: number
  readonly runUrl: string
  readonly pull: { readonly number: number; readonly headSha: string } | null
}

export interface Published {
  readonly comment: CommentOutcome
  readonly check: CheckOutcome
  readonly isAccepted: boolean
  /** What went wrong other than comment and check. */
  readonly warnings: readonly string[]
}

/** Never throws: the result is in the summary and in the artifact too. */
export async function publishCombined(
  place: Place,
  combined: Combined,
  links: Links,
  notes: readonly CommentSection[] = [],
): Promise<Published> {
  const { acceptance, warnings } = await lookForAcceptance(place, combined)
  const [verdict, ...rest] = renderCombinedSections(combined)
  const sections = [
    ...(verdict ? [verdict] : []),
    ...acceptanceSection(place, combined, acceptance),
    ...staleSection(place),
    ...notes,
    ...rest,
    linkSection(place, links),
  ]
  const shown = await show(place, sections, concludedCheck(combined, acceptance, sections))
  return { ...shown, isAccepted: isAccepted(combined, acceptance), warnings }
}

export async function show(
  place: Place,
  sections: readonly CommentSection[],
  check: CheckReport,
): Promise<{ comment: CommentOutcome; check: CheckOutcome }> {
  const [comment, written] = await Promise.all([
    upsertComment({ ...place, pullNumber: place.pull?.number ?? null }, fitComment(sections)),
    upsertCheck({ ...place, name: place.checkName }, check),
  ])
  return { comment, check: written }
}

/** Trouble here accepts nothing. */
async function lookForAcceptance(
  place: Place,
  combined: Combined,
): Promise<{ acceptance: Acceptance | null; warnings: string[] }> {
  const { pull, token } = place
  if (pull === null || token === '' || !isCombinedAcceptable(combined))
    return { acceptance: null, warnings: [] }
  try {
    const acceptance = await callGitHub(token, (github) =>
      findAcceptance(github, place, pull.number, { ...place, gates: missedGates(combined) }),
    )
    return { acceptance, warnings: [] }
  } catch (error) {
    return { acceptance: null, warnings: [`looking for an acceptance: ${explainGitHubError(error)}`] }
  }
}
