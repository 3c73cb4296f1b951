// The comments of one pull request, answering as GitHub's REST API does.
import { z } from 'zod'
import { type Answer, type Request, refuse } from './local-server.ts'
import type { Operation } from './openapi.ts'
import { listPage } from './pages.ts'
import { userJson } from './user-json.ts'

export interface FakeComment {
  id: number
  author: string
  body: string
}

export interface Identity {
  login: string
  canWrite: boolean
}

/** GitHub's own message names this limit; it counts characters, not UTF-16 units. */
const MAX_BODY_CHARACTERS = 65_536

export function answerComments(
  number: number,
  comments: FakeComment[],
  { id: operation, parameters }: Operation,
  request: Request,
  { login, canWrite }: Identity,
): Answer {
  const { owner, repo, issue_number = number, comment_id } = parameters
  const repository = `${owner}/${repo}`
  if (Number(issue_number) !== number) return refuse(404, 'Not Found')
  if (operation === 'issues/list-comments') return listPage(comments, request.url, toJson)
  if (!canWrite) return refuse(403, 'Resource not accessible by integration')
  if (operation === 'issues/create-comment') return create(readBody(request))
  // A token that may write may change anyone's comment. That ours are the only ones we touch is our own rule.
  const comment = comments.find((one) => one.id === Number(comment_id))
  if (!comment) return refuse(404, 'Not Found')
  return operation === 'issues/delete-comment' ? remove(comment) : update(comment, readBody(request))

  function create(body: string): Answer {
    if (isTooLong(body)) return refuseLength()
    const comment = { id: nextId(comments), author: login, body }
    comments.push(comment)
    return { kind: 'answer', status: 201, body: toJson(comment) }
  }

  function update(comment: FakeComment, body: string): Answer {
    if (isTooLong(body)) return refuseLength()
    comment.body = body
    return { kind: 'answer', status: 200, body: toJson(comment) }
  }

  function remove(comment: FakeComment): Answer {
    comments.splice(comments.indexOf(comment), 1)
    return { kind: 'answer', status: 204, body: undefined }
  }

  function toJson({ id, author, body }: FakeComment) {
    const api = `${request.url.origin}/repos/${repository}/issues`
    return {
      id,
      node_id: `IC_${id}`,
      url: `${api}/comments/${id}`,
      html_url: `https://github.com/${repository}/pull/${number}#issuecomment-${id}`,
      issue_url: `${api}/${number}`,
      body,
      user: userJson(author),
      created_at: '2026-11-20T10:00:00Z',
      updated_at: '2026-11-20T10:00:00Z',
      author_association: 'NONE',
    }
  }
}

export function nextId(comments: readonly FakeComment[]): number {
  return Math.max(100, ...comments.map((one) => one.id)) + 1
}

function readBody(request: Request): string {
  return z.object({ body: z.string() }).parse(JSON.parse(request.body.toString())).body
}

function isTooLong(body: string): boolean {
  return Array.from(body).length > MAX_BODY_CHARACTERS
}

function refuseLength(): Answer {
  const message = `Body is too long (maximum is ${MAX_BODY_CHARACTERS} characters)`
  const errors = [{ resource: 'IssueComment', code: 'unprocessable', field: 'data', message }]
  const documentation_url = 'https://docs.github.com/rest/issues/comments'
  return { kind: 'answer', status: 422, body: { message: 'Validation Failed', errors, documentation_url } }
}
