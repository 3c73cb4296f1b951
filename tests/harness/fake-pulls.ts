// The pull requests of a repository, answering as GitHub's REST API does.
import { type Answer, type Request, refuse } from './local-server.ts'
import type { Operation } from './openapi.ts'
import { listPage } from './pages.ts'

export interface FakePull {
  number: number
  title?: string
  headSha: string
  /** Null for a fork that is gone. */
  headRepository: string | null
  headBranch: string
  baseBranch: string
  isOpen: boolean
  /** What actions/checkout takes; left out, that of the example. */
  mergeSha?: string
}

/** `example`: a whole pull request of GitHub's own webhook examples. */
export function answerPulls(
  pulls: readonly FakePull[],
  example: Readonly<Record<string, unknown>>,
  { id: operation, parameters }: Operation,
  request: Request,
): Answer {
  if (operation === 'pulls/get') {
    const pull = pulls.find(({ number }) => number === Number(parameters.pull_number))
    return pull ? { kind: 'answer', status: 200, body: toJson(pull) } : refuse(404, 'Not Found')
  }
  const [owner, branch] = parameters.head?.split(':') ?? []
  const listed = pulls.filter(
    (pull) =>
      pull.isOpen === (parameters.state === 'open') &&
      (owner === undefined || pull.headRepository?.split('/')[0] === owner) &&
      (branch === undefined || pull.headBranch === branch),
  )
  return listPage(listed, request.url, toJson)

  function toJson(pull: FakePull) {
    return {
      ...example,
      number: pull.number,
      title: pull.title ?? 'Faster',
      merge_commit_sha: pull.mergeSha ?? example.merge_commit_sha,
      state: pull.isOpen ? 'open' : 'closed',
      head: side(example.head, pull.headBranch, pull.headSha, pull.headRepository),
      base: side(example.base, pull.baseBranch, 'b'.repeat(40), 'octo-lab/solver'),
    }
  }
}

function side(example: unknown, ref: string, sha: string, repository: string | null) {
  if (typeof example !== 'object' || example === null) throw new Error('the example has no such side')
  const repo = Reflect.get(example, 'repo')
  return { ...example, ref, sha, repo: repository === null ? null : { ...repo, full_name: repository } }
}
