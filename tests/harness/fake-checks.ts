// The check runs of a repository, answering as GitHub's REST API does.
import { z } from 'zod'
import { type Answer, type Request, refuse } from './local-server.ts'
import type { Operation } from './openapi.ts'
import { listPage } from './pages.ts'

const content = z.object({
  name: z.string(),
  status: z.enum(['queued', 'in_progress', 'completed']),
  conclusion: z.string().nullable().default(null),
  details_url: z.string(),
  external_id: z.string().default(''),
  output: z.object({ title: z.string(), summary: z.string(), text: z.string().nullable().default(null) }),
})
const creation = content.extend({ head_sha: z.string() })

export type FakeCheck = z.infer<typeof creation> & { id: number }

export function answerChecks(
  checks: FakeCheck[],
  { id: operation, parameters }: Operation,
  request: Request,
  canWrite: boolean,
): Answer {
  if (operation === 'checks/list-for-ref') {
    const listed = checks.filter(
      ({ head_sha, name }) => head_sha === parameters.ref && name === (parameters.check_name ?? name),
    )
    return listPage(listed.toReversed(), request.url, toJson, (check_runs, total_count) => ({
      total_count,
      check_runs,
    }))
  }
  if (!canWrite) return refuse(403, 'Resource not accessible by integration')
  const given: unknown = JSON.parse(request.body.toString())
  if (operation === 'checks/create') {
    const check = { ...creation.parse(given), id: 500 + checks.length }
    checks.push(check)
    return { kind: 'answer', status: 201, body: toJson(check) }
  }
  const check = checks.find(({ id }) => id === Number(parameters.check_run_id))
  if (!check) return refuse(404, 'Not Found')
  Object.assign(check, content.parse(given))
  return { kind: 'answer', status: 200, body: toJson(check) }

  function toJson({ output, ...one }: FakeCheck) {
    const address = `${request.url.origin}/repos/octo-lab/solver/check-runs/${one.id}`
    return {
      ...one,
      node_id: `CR_${one.id}`,
      url: address,
      html_url: `https://github.com/octo-lab/solver/runs/${one.id}`,
      started_at: '2026-11-20T10:00:00Z',
      completed_at: one.status === 'completed' ? '2026-11-20T10:05:00Z' : null,
      check_suite: { id: 5 },
      app: null,
      pull_requests: [],
      output: { ...output, annotations_count: 0, annotations_url: `${address}/annotations` },
    }
  }
}
