// Keeps the check run of a result on the measured commit: in progress while it is measured, then its conclusion.

import type { CheckReport } from '../../../report/github/check.ts'
import {
  type CommentMarker,
  isNewer,
  markerText,
  parseMarkerText,
} from '../../../report/github/comment-marker.ts'
import { explainGitHubError } from '../api-error.ts'
import { callGitHub, type GitHub, type Repository } from '../client.ts'
import type { Patience } from '../retry.ts'

export interface CheckTarget extends CommentMarker, Repository {
  /** What a branch rule requires; the same from run to run. */
  readonly name: string
  readonly runUrl: string
  readonly token: string
}

export type CheckOutcome =
  | { status: 'written'; url: string }
  | { status: 'skipped'; reason: string }
  | { status: 'failed'; reason: string }

interface OwnCheck {
  readonly id: number
  readonly isCompleted: boolean
  readonly marker: CommentMarker
}

/** Never throws: a check that cannot be written must not change a verdict. */
export async function upsertCheck(
  target: CheckTarget,
  report: CheckReport,
  patience?: Patience,
): Promise<CheckOutcome> {
  if (target.token === '')
    return { status: 'skipped', reason: 'no token: pass one as github-token to get a check' }
  try {
    return await callGitHub(target.token, (github) => upsertOnce(github, target, report), patience)
  } catch (error) {
    return { status: 'failed', reason: `check on ${target.headSha}: ${explainGitHubError(error)}` }
  }
}

/** The run that has concluded the check of this name last, if one has. */
export async function findConcludingRun(
  github: GitHub,
  place: Repository & Pick<CheckTarget, 'headSha' | 'name' | 'key'>,
): Promise<CommentMarker | null> {
  const concluded = (await listOwnChecks(github, place)).filter(({ isCompleted }) => isCompleted)
  return concluded.map(({ marker }) => marker).reduce<CommentMarker | null>(newest, null)
}

function newest(one: CommentMarker | null, other: CommentMarker): CommentMarker {
  return one && isNewer(one, other) ? one : other
}

async function upsertOnce(github: GitHub, target: CheckTarget, report: CheckReport): Promise<CheckOutcome> {
  const checks = await listOwnChecks(github, target)
  const newer = checks.find(({ marker }) => isNewer(marker, target))
  if (newer) {
    const { runId, runAttempt } = newer.marker
    return { status: 'skipped', reason: `run ${runId}, attempt ${runAttempt}, is newer and has a check` }
  }
  const own = checks.find(({ marker }) => !isNewer(target, marker))
  // Progress that comes late must not open a concluded check again.
  if (own?.isCompleted && report.status === 'in_progress')
    return { status: 'skipped', reason: 'the check has concluded' }
  const { owner, repo, name, headSha } = target
  const content = { ...contentOf(report), details_url: target.runUrl, external_id: markerText(target) }
  const written = own
    ? await github.rest.checks.update({ owner, repo, check_run_id: own.id, name, ...content })
    : await github.rest.checks.create({ owner, repo, head_sha: headSha, name, ...content })
  return { status: 'written', url: written.data.html_url ?? target.runUrl }
}

function contentOf(report: CheckReport) {
  const { title, summary, text } = report
  const output = text === '' ? { title, summary } : { title, summary, text }
  return report.status === 'in_progress'
    ? { status: report.status, output }
    : { status: report.status, conclusion: report.conclusion, output }
}

/** A job of the same name makes checks of this name too, but none with a marker of ours. */
async function listOwnChecks(
  github: GitHub,
  { owner, repo, headSha, name, key }: Repository & Pick<CheckTarget, 'headSha' | 'name' | 'key'>,
): Promise<OwnCheck[]> {
  const checks = await github.paginate(github.rest.checks.listForRef, {
    owner,
    repo,
    ref: headSha,
    check_name: name,
    filter: 'all',
    per_page: 100,
  })
  return checks.flatMap(({ id, status, external_id }) => {
    const marker = parseMarkerText(external_id ?? '')
    return marker?.key === key && marker.headSha === headSha
      ? [{ id, isCompleted: status === 'completed', marker }]
      : []
  })
}
