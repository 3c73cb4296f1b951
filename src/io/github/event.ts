// Reads once what the workflow run is about: repository, run, pull request.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { messageOf } from '../error-message.ts'

export interface WorkflowRun {
  owner: string
  repo: string
  eventName: string
  /** null: the run is not about a pull request. */
  pullNumber: number | null
  /** The commit that was proposed; on pull requests never GITHUB_SHA, which is a trial merge. */
  headSha: string
  /** Of the branch that the pull request is to be merged into, at the time of the event; null without one. */
  baseSha: string | null
  runId: number
  runAttempt: number
  runUrl: string
  serverUrl: string
  /** The head is in another repository, or that repository is gone: its token is read-only. */
  fork: boolean
  job: string
}

export type WorkflowRunReading =
  | { status: 'complete'; run: WorkflowRun }
  /** The runner's variables are there, the event file is not: number, head and fork are the careful guess. */
  | { status: 'without-event'; run: WorkflowRun; reason: string }
  | { status: 'not-in-a-workflow'; reason: string }

type Environment = Readonly<Record<string, string | undefined>>
type PullFacts = Pick<WorkflowRun, 'pullNumber' | 'headSha' | 'baseSha' | 'fork'>

const repository = z.object({ full_name: z.string() })
const pullRequestEvent = z.object({
  pull_request: z.object({
    number: z.number().int().positive(),
    head: z.object({ sha: z.string().min(1), repo: repository.nullable() }),
    base: z.object({ sha: z.string().min(1), repo: repository }),
  }),
})

export function readWorkflowRun(environment: Environment = process.env): WorkflowRunReading {
  const [owner, repo] = (environment.GITHUB_REPOSITORY ?? '').split('/')
  if (!owner || !repo) {
    return { status: 'not-in-a-workflow', reason: 'GITHUB_REPOSITORY is not "owner/name": not in a workflow' }
  }
  const common = { ...runFacts(environment, owner, repo), owner, repo }
  if (!isAboutPullRequest(common.eventName)) {
    const headSha = environment.GITHUB_SHA ?? ''
    return { status: 'complete', run: { ...common, pullNumber: null, headSha, baseSha: null, fork: false } }
  }
  const reading = readPullFacts(environment.GITHUB_EVENT_PATH ?? '')
  if ('reason' in reading) {
    const run = { ...common, ...guessPullFacts(environment) }
    return { status: 'without-event', run, reason: reading.reason }
  }
  return { status: 'complete', run: { ...common, ...reading } }
}

function runFacts(environment: Environment, owner: string, repo: string) {
  const serverUrl = environment.GITHUB_SERVER_URL || 'https://github.com'
  const runId = wholeNumber(environment.GITHUB_RUN_ID, 0)
  const runAttempt = wholeNumber(environment.GITHUB_RUN_ATTEMPT, 1)
  return {
    eventName: environment.GITHUB_EVENT_NAME ?? '',
    runId,
    runAttempt,
    serverUrl,
    runUrl: `${serverUrl}/${owner}/${repo}/actions/runs/${runId}/attempts/${runAttempt}`,
    job: environment.GITHUB_JOB ?? '',
  }
}

function isAboutPullRequest(eventName: string): boolean {
  return /^pull_request(_target|_review|_review_comment)?$/.test(eventName)
}

function readPullFacts(path: string): PullFacts | { reason: string } {
  try {
    const { pull_request: pull } = pullRequestEvent.parse(JSON.parse(readFileSync(path, 'utf8')))
    const fork = pull.head.repo?.full_name !== pull.base.repo.full_name
    return { pullNumber: pull.number, headSha: pull.head.sha, baseSha: pull.base.sha, fork }
  } catch (error) {
    const cause = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error)
    return { reason: `GITHUB_EVENT_PATH: "${path}" is not a readable pull request event: ${cause}` }
  }
}

/** GITHUB_REF of a pull request is refs/pull/7/merge. Whether it is a fork is unknown, so it counts as one. */
function guessPullFacts(environment: Environment): PullFacts {
  const [, number] = /^refs\/pull\/(\d+)\//.exec(environment.GITHUB_REF ?? '') ?? []
  return {
    pullNumber: number ? Number(number) : null,
    headSha: environment.GITHUB_SHA ?? '',
    baseSha: null,
    fork: true,
  }
}

function wholeNumber(text: string | undefined, otherwise: number): number {
  return text && /^\d+$/.test(text) ? Number(text) : otherwise
}
