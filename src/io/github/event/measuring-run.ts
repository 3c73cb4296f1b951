// Reads from the event which workflow run has measured, and of which commit. Only GitHub has written there.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ConfigError, messageOf } from '../../../errors.ts'
import { branchOf } from './event.ts'

/** Where a commit was proposed. Null for a repository or branch that is gone. */
export interface Head {
  readonly sha: string
  readonly repository: string | null
  readonly branch: string | null
}

/** A run that waits for a maintainer's approval has ended for GitHub, but has no real conclusion. */
export type RunPhase = 'waiting' | 'requested' | 'completed'

/** `queueBase`: the branch that a merge queue is to merge into; null where the run is not of a merge group. */
export type MeasuringRun =
  /** Another workflow run, which has just been asked for or has ended. */
  | {
      readonly kind: 'other run'
      readonly phase: RunPhase
      readonly runId: number
      readonly runAttempt: number
      readonly conclusion: string | null
      readonly head: Head
      readonly queueBase: string | null
    }
  /** An earlier job of this very run. */
  | {
      readonly kind: 'this run'
      readonly headSha: string
      readonly pullNumber: number | null
      readonly queueBase: string | null
    }
  /** Whichever run has concluded the check of the pull request's head: somebody has commented. */
  | { readonly kind: 'last run'; readonly pullNumber: number }

export interface ReportEvent {
  readonly run: MeasuringRun
  readonly defaultBranch: string
}

type Environment = Readonly<Record<string, string | undefined>>

const sha = z.string().regex(/^[0-9a-f]{40,64}$/)
const whole = z.int().positive()
const anyEvent = z.object({ repository: z.object({ default_branch: z.string().min(1) }) })
const workflowRunEvent = z.object({
  action: z.enum(['requested', 'in_progress', 'completed']),
  workflow_run: z.object({
    id: whole,
    event: z.string(),
    run_attempt: whole,
    conclusion: z.string().nullable(),
    head_sha: sha,
    head_branch: z.string().nullable(),
    head_repository: z.object({ full_name: z.string() }).nullable(),
  }),
})
const pullRequestEvent = z.object({
  pull_request: z.object({ number: whole, head: z.object({ sha }) }),
})
const mergeGroupEvent = z.object({ merge_group: z.object({ head_sha: sha, base_ref: z.string() }) })
const issueCommentEvent = z.object({
  issue: z.object({ number: whole, pull_request: z.looseObject({}) }),
})

/** `headSha`: what the workflow says that this run has measured. Throws a ConfigError for an event without a run. */
export function readReportEvent(headSha: string | null, environment: Environment = process.env): ReportEvent {
  const name = environment.GITHUB_EVENT_NAME ?? ''
  const payload = readPayload(environment.GITHUB_EVENT_PATH ?? '')
  try {
    const { repository } = anyEvent.parse(payload)
    return { run: runOf(name, payload, headSha), defaultBranch: repository.default_branch }
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    throw new ConfigError(`event ${name}: not as GitHub sends it: ${z.prettifyError(error)}`)
  }
}

function runOf(name: string, payload: unknown, headSha: string | null): MeasuringRun {
  if (name === 'workflow_run') return otherRun(payload)
  if (name === 'issue_comment') {
    const pullNumber = issueCommentEvent.parse(payload).issue.number
    return headSha === null
      ? { kind: 'last run', pullNumber }
      : { kind: 'this run', headSha, pullNumber, queueBase: null }
  }
  if (/^pull_request(_target)?$/.test(name)) {
    const { number, head } = pullRequestEvent.parse(payload).pull_request
    return { kind: 'this run', headSha: headSha ?? head.sha, pullNumber: number, queueBase: null }
  }
  if (name === 'merge_group') {
    const { head_sha: head, base_ref: base } = mergeGroupEvent.parse(payload).merge_group
    return { kind: 'this run', headSha: headSha ?? head, pullNumber: null, queueBase: branchOf(base) }
  }
  if (headSha !== null) return { kind: 'this run', headSha, pullNumber: null, queueBase: null }
  throw new ConfigError(
    `job: a report in a run of ${name} does not know which commit was measured; set head-sha`,
  )
}

function otherRun(payload: unknown): MeasuringRun {
  const { action, workflow_run: run } = workflowRunEvent.parse(payload)
  return {
    kind: 'other run',
    phase: phaseOf(action, run.conclusion),
    runId: run.id,
    runAttempt: run.run_attempt,
    conclusion: run.conclusion,
    head: {
      sha: run.head_sha,
      repository: run.head_repository?.full_name ?? null,
      branch: run.head_branch,
    },
    queueBase: run.event === 'merge_group' ? queueBaseOf(run.head_branch) : null,
  }
}

/** GitHub makes the branch of a merge group: `gh-readonly-queue/main/pr-7-<commit>`. */
function queueBaseOf(branch: string | null): string {
  const [, base] = /^gh-readonly-queue\/(.+)\/pr-\d+-[0-9a-f]+$/.exec(branch ?? '') ?? []
  if (base !== undefined) return base
  throw new ConfigError(
    `event workflow_run: got the branch ${JSON.stringify(branch)} of a merge group, expected gh-readonly-queue/<base>/pr-<number>-<commit>`,
  )
}

function phaseOf(action: string, conclusion: string | null): RunPhase {
  if (conclusion === 'action_required') return 'waiting'
  return action === 'completed' ? 'completed' : 'requested'
}

function readPayload(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ConfigError(`GITHUB_EVENT_PATH: "${path}" is not a readable event: ${messageOf(error)}`)
  }
}
