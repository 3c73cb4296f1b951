// A GitHub of our own, over HTTP: the calls that Speedproof makes, with state, tokens and faults. Every call and
// answer is checked against GitHub's description; disposing throws when one did not fit.
import { z } from 'zod'
import { examplePull, HEAD_SHA, PULL_NUMBER, REPOSITORY } from './events.ts'
import { ARCHIVE_PATH, answerArchives, type FakeArchive, giveArchive } from './fake-archives.ts'
import { answerChecks, type FakeCheck } from './fake-checks.ts'
import { answerComments, type FakeComment, type Identity, nextId } from './fake-comments.ts'
import { answerContents, type FakeFiles } from './fake-contents.ts'
import { answerJobs, type FakeJob } from './fake-jobs.ts'
import { answerPulls, type FakePull } from './fake-pulls.ts'
import { type Answer, type Request, refuse, startLocalServer } from './local-server.ts'
import { findOperation, type Operation } from './openapi.ts'

export interface FakeGitHub extends AsyncDisposable {
  url: string
  comments: readonly FakeComment[]
  checks: readonly FakeCheck[]
  /** One is there from the start: number 7, from a branch of the repository itself. */
  pulls: FakePull[]
  files: FakeFiles
  archives: FakeArchive[]
  /** One is there from the start: the measuring job of run 1001, in its first attempt. */
  jobs: FakeJob[]
  /** Of people on the repository, by login; others are unknown to it. */
  permissions: Record<string, 'admin' | 'write' | 'read' | 'none'>
  /** Operation ids in the order of the calls, such as 'issues/list-comments'. */
  calls: readonly string[]
  /** Adds comments as if written before. */
  addComments(...comments: Omit<FakeComment, 'id'>[]): void
  /** Called with the operation of every call, before it is answered. */
  onCall: (operationId: string) => void
  /** The next calls of this operation end like this, in turn. */
  failNext(operationId: string, ...failures: Failure[]): void
}

export type Failure = Answer | { kind: 'answer lost after the change' }

/** By token. What REST calls "read-only" is the token of a job in a pull request from a fork. */
const IDENTITIES: Record<string, Identity> = {
  'job-token': { login: 'github-actions[bot]', canWrite: true },
  'read-only-token': { login: 'github-actions[bot]', canWrite: false },
  'person-token': { login: 'octocat', canWrite: true },
}
const VIEWER = 'graphql/viewer'
const PULL: FakePull = {
  number: PULL_NUMBER,
  headSha: HEAD_SHA,
  headRepository: REPOSITORY,
  headBranch: 'faster',
  baseBranch: 'main',
  isOpen: true,
}

const JOB: FakeJob = {
  runId: 1001,
  runAttempt: 1,
  name: 'measure',
  startedAt: '2026-11-20T09:50:00Z',
  conclusion: 'success',
}

export async function startFakeGitHub(): Promise<FakeGitHub> {
  const comments: FakeComment[] = []
  const checks: FakeCheck[] = []
  const pulls = [{ ...PULL }]
  const files: FakeFiles = {}
  const archives: FakeArchive[] = []
  const jobs = [{ ...JOB }]
  const permissions: FakeGitHub['permissions'] = {}
  const calls: string[] = []
  const failures = new Map<string, Failure[]>()
  const violations: string[] = []

  const server = await startLocalServer((request) => {
    if (request.url.pathname === '/graphql') {
      return answerCall(VIEWER, (identity) => answerViewer(request, identity), request)
    }
    if (request.url.pathname.startsWith(ARCHIVE_PATH)) return giveArchive(archives, request)
    const operation = findOperation(request)
    if (!operation) {
      violations.push(`${request.method} ${request.url.pathname} is not among the described operations`)
      return refuse(404, 'Not Found')
    }
    if (operation.problems.length > 0) {
      violations.push(...operation.problems)
      return refuse(422, 'Invalid request')
    }
    const answer = answerCall(
      operation.id,
      (identity) => answerOperation(operation, identity, request),
      request,
    )
    violations.push(...problemsOf(operation, answer))
    return answer
  })

  function answerOperation(operation: Operation, identity: Identity, request: Request): Answer {
    const { owner, repo } = operation.parameters
    if (`${owner}/${repo}` !== REPOSITORY) return refuse(404, 'Not Found')
    switch (operation.id.split('/')[0]) {
      case 'issues':
        return answerComments(PULL_NUMBER, comments, operation, request, identity)
      case 'checks':
        return answerChecks(checks, operation, request, identity.canWrite)
      case 'pulls':
        return answerPulls(pulls, examplePull(), operation, request)
      case 'actions':
        return operation.id === 'actions/list-jobs-for-workflow-run'
          ? answerJobs(jobs, operation, request)
          : answerArchives(archives, operation, request)
      default:
        return answerContents(files, permissions, operation, request)
    }
  }

  function answerCall(id: string, act: (identity: Identity) => Answer, request: Request): Answer {
    calls.push(id)
    github.onCall(id)
    const failure = failures.get(id)?.shift()
    if (failure && failure.kind !== 'answer lost after the change') return failure
    const token = (request.headers.authorization ?? '').replace(/^(token|bearer) /i, '')
    const identity = IDENTITIES[token]
    const answer = identity ? act(identity) : refuse(401, 'Bad credentials')
    return failure ? { kind: 'dropped' } : answer
  }

  const github: FakeGitHub = {
    url: server.url,
    comments,
    checks,
    pulls,
    files,
    archives,
    jobs,
    permissions,
    calls,
    onCall: () => {},
    addComments(...added) {
      for (const one of added) comments.push({ id: nextId(comments), ...one })
    },
    failNext(operationId, ...added) {
      failures.set(operationId, [...(failures.get(operationId) ?? []), ...added])
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      if (violations.length > 0) throw new Error(`Not as GitHub describes it:\n${violations.join('\n')}`)
    },
  }
  return github
}

function problemsOf(operation: Operation, answer: Answer): string[] {
  if (answer.kind !== 'answer') return []
  return operation.problemsOfAnswer(answer.status, answer.body)
}

/** The one GraphQL query of the project; GitHub answers it to every token. */
function answerViewer(request: Request, { login }: Identity): Answer {
  const { query } = z.object({ query: z.string() }).parse(JSON.parse(request.body.toString()))
  if (!/^\s*(query\s*)?\{\s*viewer\s*\{\s*login\s*\}\s*\}\s*$/.test(query)) {
    return { kind: 'answer', status: 200, body: { errors: [{ message: `not prepared for ${query}` }] } }
  }
  return { kind: 'answer', status: 200, body: { data: { viewer: { login } } } }
}
