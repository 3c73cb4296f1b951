// Reads a failed GitHub call: is it worth another try, and what can the user do about it.
import { z } from 'zod'
import { messageOf } from '../../errors.ts'
import type { RetryAdvice } from './retry.ts'

const requestError = z.object({
  status: z.number(),
  message: z.string(),
  // Absent when no answer came: octokit gives a network failure the status 500.
  response: z
    .object({ headers: z.record(z.string(), z.union([z.string(), z.number()]).optional()).default({}) })
    .optional(),
})
type RequestError = z.infer<typeof requestError>

export function adviseOnGitHubError(error: unknown): RetryAdvice {
  const failure = requestError.safeParse(error).data
  if (!failure) return { kind: 'final' }
  if (isRateLimited(failure)) return { kind: 'passing', afterMs: askedDelayMs(failure) }
  if (failure.status >= 500) return { kind: 'passing', afterMs: null }
  return { kind: 'final' }
}

/** One sentence: the status, what GitHub said, and the remedy. */
export function explainGitHubError(error: unknown): string {
  const failure = requestError.safeParse(error).data
  if (!failure) return messageOf(error)
  if (!failure.response) return `no answer from GitHub (${failure.message}): check the runner's network`
  return `GitHub answered ${failure.status} (${failure.message}): ${remedy(failure)}`
}

export function isNotFound(error: unknown): boolean {
  return requestError.safeParse(error).data?.status === 404
}

/** A locked conversation, an archived repository and an address that is not allowed are 403 too. */
const LACKS_PERMISSION =
  /resource not accessible by|must have .+ (?:rights|access|scope)|requires .+ permission/i

function remedy(failure: RequestError): string {
  if (isRateLimited(failure)) return 'the rate limit is used up; re-run the job later'
  switch (failure.status) {
    case 401:
      return 'the token is not valid; pass the token of this job'
    case 403:
      return LACKS_PERMISSION.test(failure.message)
        ? 'the token lacks a permission; give the job "permissions: pull-requests: write, checks: write". ' +
            'For a pull request from a fork the token is always read-only: report from the artifact instead'
        : "the reason is GitHub's own, and no permission of the job changes it; remove it, and re-run the job"
    case 404:
      return 'it does not exist, or the token cannot read it; check repository, number or path, and token'
    case 422:
      return 'GitHub refused the text; the job summary and the artifact have it'
    default:
      return failure.status >= 500 ? 'GitHub failed; re-run the job later' : 'see the status'
  }
}

// https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api: 403 or 429, with retry-after
// (secondary limit) or with x-ratelimit-remaining 0 and the time of the reset in seconds since 1970.
function isRateLimited({ status, message, response }: RequestError): boolean {
  if (status === 429) return true
  if (status !== 403) return false
  const headers = response?.headers ?? {}
  return (
    headers['retry-after'] !== undefined ||
    Number(headers['x-ratelimit-remaining'] ?? 1) === 0 ||
    /secondary rate limit/i.test(message)
  )
}

function askedDelayMs({ response }: RequestError): number | null {
  const retryAfterSeconds = Number(response?.headers['retry-after'] ?? Number.NaN)
  if (Number.isFinite(retryAfterSeconds)) return retryAfterSeconds * 1000
  const resetSeconds = Number(response?.headers['x-ratelimit-reset'] ?? Number.NaN)
  return Number.isFinite(resetSeconds) ? Math.max(0, resetSeconds * 1000 - Date.now()) : null
}
