// Calls GitHub: one client with the token of the job, passing faults tried again, all within a fixed time.
import { getOctokit } from '@actions/github'
import { adviseOnGitHubError } from './api-error.ts'
import { type Patience, withRetry } from './retry.ts'

export type GitHub = ReturnType<typeof getOctokit>

export interface Repository {
  readonly owner: string
  readonly repo: string
}

const API_PATIENCE: Patience = { attempts: 4, firstDelayMs: 1000, totalMs: 30_000 }

/** `call` may be repeated, so it must begin with looking at what is there. Throws the last error. */
export async function callGitHub<T>(
  token: string,
  call: (github: GitHub) => Promise<T>,
  patience: Patience = API_PATIENCE,
): Promise<T> {
  return await withRetry((signal) => call(openGitHub(token, signal)), adviseOnGitHubError, patience)
}

/** The signal goes in by a hook: as an option of getOctokit it would replace the settings for a proxy. */
function openGitHub(token: string, signal: AbortSignal): GitHub {
  const octokit = getOctokit(token)
  octokit.hook.before('request', (options) => {
    options.request = { ...options.request, signal }
  })
  return octokit
}
