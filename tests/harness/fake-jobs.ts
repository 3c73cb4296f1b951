// The jobs of workflow runs, as REST lists them.
import type { Answer, Request } from './local-server.ts'
import type { Operation } from './openapi.ts'
import { listPage } from './pages.ts'

export interface FakeJob {
  runId: number
  runAttempt: number
  /** As GitHub shows it: `caller / measure (leg)`. */
  name: string
  startedAt: string
  conclusion: 'success' | 'failure' | 'cancelled' | 'skipped' | null
}

export function answerJobs(jobs: readonly FakeJob[], { parameters }: Operation, request: Request): Answer {
  const ofRun = [...jobs.entries()].filter(([, { runId }]) => runId === Number(parameters.run_id))
  const last = Math.max(...ofRun.map(([, { runAttempt }]) => runAttempt))
  const listed = ofRun.filter(([, { runAttempt }]) => parameters.filter === 'all' || runAttempt === last)
  return listPage(listed, request.url, toJson, (page, total_count) => ({ total_count, jobs: page }))

  function toJson([id, { runId, runAttempt, name, startedAt, conclusion }]: [number, FakeJob]) {
    const address = `${request.url.origin}/repos/octo-lab/solver/actions`
    return {
      id,
      run_id: runId,
      run_url: `${address}/runs/${runId}`,
      run_attempt: runAttempt,
      node_id: `J_${id}`,
      head_sha: 'a'.repeat(40),
      head_branch: 'faster',
      workflow_name: 'Performance',
      url: `${address}/jobs/${id}`,
      html_url: `https://github.com/octo-lab/solver/actions/runs/${runId}/job/${id}`,
      check_run_url: `${request.url.origin}/repos/octo-lab/solver/check-runs/${id}`,
      status: conclusion === null ? 'in_progress' : 'completed',
      conclusion,
      created_at: startedAt,
      started_at: startedAt,
      completed_at: conclusion === null ? null : startedAt,
      name,
      steps: [],
      labels: ['gpu'],
      runner_id: 1,
      runner_name: 'gpu-1',
      runner_group_id: 1,
      runner_group_name: 'gpu',
    }
  }
}
