// A GitHub of our own, over HTTP: the calls that Speedproof makes, with state, tokens and faults. Every call and
// answer is checked against GitHub's description; disposing throws when one did not fit.
import { z } from 'zod'
import { answerComments, type FakeComment, type Identity, nextId, type Pull } from './fake-comments.ts'
import { type Answer, type Request, refuse, startLocalServer } from './local-server.ts'
import { findOperation, type Operation } from './openapi.ts'

export interface FakeGitHub extends AsyncDisposable {
  url: string
  comments: readonly FakeComment[]
  /** Operation ids in the order of the calls, such as 'issues/list-comments'. */
  calls: readonly string[]
  /** Adds comments as if written before. */
  addComments(...comments: Omit<FakeComment, 'id'>[]): void
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
const PULL: Pull = { repository: 'octo-lab/solver', number: 7 }

export async function startFakeGitHub(pull: Pull = PULL): Promise<FakeGitHub> {
  const comments: FakeComment[] = []
  const calls: string[] = []
  const failures = new Map<string, Failure[]>()
  const violations: string[] = []

  const server = await startLocalServer((request) => {
    if (request.url.pathname === '/graphql') {
      return answerCall(VIEWER, (identity) => answerViewer(request, identity), request)
    }
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
      (identity) => answerComments(pull, comments, operation, request, identity),
      request,
    )
    violations.push(...problemsOf(operation, answer))
    return answer
  })

  function answerCall(id: string, act: (identity: Identity) => Answer, request: Request): Answer {
    calls.push(id)
    const failure = failures.get(id)?.shift()
    if (failure && failure.kind !== 'answer lost after the change') return failure
    const token = (request.headers.authorization ?? '').replace(/^(token|bearer) /i, '')
    const identity = IDENTITIES[token]
    const answer = identity ? act(identity) : refuse(401, 'Bad credentials')
    return failure ? { kind: 'dropped' } : answer
  }

  return {
    url: server.url,
    comments,
    calls,
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
