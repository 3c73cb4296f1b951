// Finds the pull request that a commit was proposed in, by what GitHub itself knows of the commit.
import type { GitHub, Repository } from '../client.ts'
import type { Head } from './measuring-run.ts'

export interface PullRequest {
  readonly number: number
  /** Its present head, which a later push has moved. */
  readonly head: Head
  readonly baseBranch: string
  /** The merge of head and base that actions/checkout takes; null while GitHub has made none. */
  readonly mergeSha: string | null
}

export async function readPull(github: GitHub, repository: Repository, number: number): Promise<PullRequest> {
  return asPull((await github.rest.pulls.get({ ...repository, pull_number: number })).data)
}

/**
 * The open pull request with this head. The event of a run lists none for forks, so they are asked for by
 * repository and branch. Of several with one head, the one into the default branch, then the oldest.
 */
export async function findPull(
  github: GitHub,
  repository: Repository,
  head: Head,
  defaultBranch: string,
): Promise<PullRequest | null> {
  const { repository: headRepository, branch } = head
  const owner = headRepository?.split('/')[0]
  const narrowed = owner !== undefined && branch !== null ? { head: `${owner}:${branch}` } : {}
  const open = await github.paginate(github.rest.pulls.list, {
    ...repository,
    ...narrowed,
    state: 'open',
    sort: 'created',
    direction: 'asc',
    per_page: 100,
  })
  const same = open
    .map(asPull)
    .filter((pull) => headRepository === null || pull.head.repository === headRepository)
  const here = same.filter((pull) => pull.head.sha === head.sha)
  // Without repository and branch, only the commit itself says that this is the one.
  const moved = headRepository === null || branch === null ? [] : same
  const candidates = here.length > 0 ? here : moved
  return candidates.find(({ baseBranch }) => baseBranch === defaultBranch) ?? candidates[0] ?? null
}

interface PullJson {
  number: number
  head: { sha: string; ref: string; repo: { full_name: string } | null }
  base: { ref: string }
  merge_commit_sha: string | null
}

function asPull({ number, head, base, merge_commit_sha: mergeSha }: PullJson): PullRequest {
  return {
    number,
    head: { sha: head.sha, repository: head.repo?.full_name ?? null, branch: head.ref },
    baseBranch: base.ref,
    mergeSha,
  }
}
