// Finds the comment in which somebody with write access accepts one verdict.
import type { Acceptance } from '../../../judge/acceptance.ts'
import { type AcceptedVerdict, accepts, parseAcceptance } from '../../../report/github/acceptance.ts'
import { isNotFound } from '../api-error.ts'
import type { GitHub, Repository } from '../client.ts'

/** What REST calls `write` includes the role `maintain`. */
const MAY_ACCEPT: readonly string[] = ['admin', 'write']

/** The newest that counts. Throws when GitHub does not answer: then nothing is accepted. */
export async function findAcceptance(
  github: GitHub,
  { owner, repo }: Repository,
  pullNumber: number,
  wanted: AcceptedVerdict,
): Promise<Acceptance | null> {
  const comments = await github.paginate(github.rest.issues.listComments, {
    owner,
    repo,
    issue_number: pullNumber,
    per_page: 100,
  })
  const refused = new Set<string>()
  for (const { body, user, html_url: url } of comments.toReversed()) {
    const found = parseAcceptance(body ?? '')
    // An app may write here and repeat what anybody tells it to.
    if (user?.type !== 'User' || found === null || !accepts(found, wanted)) continue
    if (refused.has(user.login)) continue
    if (await mayAccept(github, { owner, repo }, user.login))
      return { login: user.login, reason: found.reason, url }
    refused.add(user.login)
  }
  return null
}

/** What a comment says of its author's association is of when it was written; this is of now. */
async function mayAccept(github: GitHub, repository: Repository, username: string): Promise<boolean> {
  try {
    const { data } = await github.rest.repos.getCollaboratorPermissionLevel({ ...repository, username })
    return MAY_ACCEPT.includes(data.permission)
  } catch (error) {
    if (isNotFound(error)) return false // Neither a person nor an app that GitHub knows here.
    throw error
  }
}
