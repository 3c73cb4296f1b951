// Keeps one comment of ours on a pull request: makes it, renews it, and never puts an older result over a newer.
import { z } from 'zod'
import {
  type CommentMarker,
  isNewer,
  parseMarker,
  renderMarker,
} from '../../../report/github/comment-marker.ts'
import { explainGitHubError } from '../api-error.ts'
import { callGitHub, type GitHub } from '../client.ts'
import type { Patience } from '../retry.ts'

export interface CommentTarget extends CommentMarker {
  owner: string
  repo: string
  pullNumber: number | null
  token: string
}

export type CommentOutcome =
  | { status: 'created' | 'updated'; url: string }
  | { status: 'skipped'; reason: string }
  | { status: 'failed'; reason: string }

type Place = CommentTarget & { pullNumber: number }
interface OwnComment {
  id: number
  marker: CommentMarker
  /** Without the marker. */
  text: string
}

/** A text, or one that is made of the comment that is there, '' for none. */
export type CommentText = string | ((earlier: string) => string)

/** `text` comes without the marker. Never throws: a comment that cannot be written must not change a verdict. */
export async function upsertComment(
  target: CommentTarget,
  text: CommentText,
  patience?: Patience,
): Promise<CommentOutcome> {
  const { pullNumber, token } = target
  if (pullNumber === null) return { status: 'skipped', reason: 'this run is not about a pull request' }
  if (token === '')
    return { status: 'skipped', reason: 'no token: pass one as github-token to get a comment' }
  try {
    // Each try starts with the list: an answer may get lost after the comment was made, and a second POST
    // would make a second comment.
    return await callGitHub(token, (github) => upsertOnce(github, { ...target, pullNumber }, text), patience)
  } catch (error) {
    return { status: 'failed', reason: `comment on pull request ${pullNumber}: ${explainGitHubError(error)}` }
  }
}

async function upsertOnce(github: GitHub, place: Place, text: CommentText): Promise<CommentOutcome> {
  const { owner, repo } = place
  const [ours, ...duplicates] = await listOwnComments(github, place)
  const newer = [ours, ...duplicates].find((one) => one && isNewer(one.marker, place))
  if (newer) {
    const { runId, runAttempt } = newer.marker
    return { status: 'skipped', reason: `run ${runId}, attempt ${runAttempt}, is newer and has reported` }
  }
  const content = typeof text === 'string' ? text : text(ours?.text ?? '')
  const body = `${renderMarker(place)}\n${content}`
  if (!ours) {
    const made = await github.rest.issues.createComment({
      owner,
      repo,
      issue_number: place.pullNumber,
      body,
    })
    return { status: 'created', url: made.data.html_url }
  }
  const renewed = await github.rest.issues.updateComment({ owner, repo, comment_id: ours.id, body })
  await removeDuplicates(github, place, duplicates)
  return { status: 'updated', url: renewed.data.html_url }
}

/** Oldest first, as GitHub lists them. */
async function listOwnComments(github: GitHub, place: Place): Promise<OwnComment[]> {
  const { owner, repo, pullNumber } = place
  const login = await readOwnLogin(github)
  const comments = await github.paginate(github.rest.issues.listComments, {
    owner,
    repo,
    issue_number: pullNumber,
    per_page: 100,
  })
  return comments.flatMap(({ id, body = '', user }) => {
    const marker = user?.login === login ? parseMarker(body) : null
    return marker?.key === place.key ? [{ id, marker, text: body.slice(body.indexOf('\n') + 1) }] : []
  })
}

/**
 * Anyone can write our marker, so the author counts. GET /user answers 403 to the token of a job and of an app;
 * the `viewer` of GraphQL answers every kind of token, with the login that REST gives to its comments
 * ("github-actions[bot]" for the token of a job).
 */
async function readOwnLogin(github: GitHub): Promise<string> {
  const answer = await github.graphql('query { viewer { login } }')
  return z.object({ viewer: z.object({ login: z.string().min(1) }) }).parse(answer).viewer.login
}

/** Two runs that start together may both make a comment. Left there, the second would go on showing an old verdict. */
async function removeDuplicates(
  github: GitHub,
  place: Place,
  duplicates: readonly OwnComment[],
): Promise<void> {
  const { owner, repo } = place
  const removals = duplicates.map(({ id }) =>
    github.rest.issues.deleteComment({ owner, repo, comment_id: id }),
  )
  // The result is out already: what could not be removed now is tried again by the next run.
  await Promise.allSettled(removals)
}
