// Reads once what the workflow run is about: repository, run, pull request.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { messageOf } from '../../../errors.ts'

export interface WorkflowRun {
  owner: string
  repo: string
  eventName: string
  /** null: the run is not about one pull request. */
  pullNumber: number | null
  /** The commit that was proposed; on pull requests never GITHUB_SHA, which is a trial merge. */
  headSha: string
  /** Of the branch that the pull request is to be merged into, at the time of the event; null without one. */
  baseSha: string | null
  runId: number
  runAttempt: number
  runUrl: string
  serverUrl: string
  /** The branch that a pull request or a merge group is for, if it is not the default one. */
  otherBase: string | null
  /** The pull request comes from another repository, or from one that is gone. */
  isOfFork: boolean
  job: string
}

export type WorkflowRunReading =
  | { status: 'complete'; run: WorkflowRun }
  /** The runner's variables are there, the event file is not: number, head and base are a guess. */
  | { status: 'without-event'; run: WorkflowRun; reason: string }
  | { status: 'not-in-a-workflow'; reason: string }

type Environment = Readonly<Record<string, string | undefined>>
const mergeGroupEvent = z.object({
  merge_group: z.object({
    head_sha: z.string().min(1),
    base_sha: z.string().min(1),
    base_ref: z.string(),
  }),
  repository: z.object({ default_branch: z.string() }),
})

type PullFacts = Pick<WorkflowRun, 'pullNumber' | 'headSha' | 'baseSha' | 'otherBase' | 'isOfFork'>

const pullRequestEvent = z.object({
  pull_request: z.object({
    number: z.number().int().positive(),
    head: z.object({
      sha: z.string().min(1),
      repo: z.object({ full_name: z.string() }).nullable(),
    }),
    base: z.object({
      sha: z.string().min(1),
      ref: z.string(),
      repo: z.object({ full_name: z.string(), default_branch: z.string() }),
    }),
  }),
})

export function readWorkflowRun(environment: Environment = process.env): WorkflowRunReading {
  const common = readRunFacts(environment)
  if (common.owner === '' || common.repo === '') {
    return { status: 'not-in-a-workflow', reason: 'GITHUB_REPOSITORY is not "owner/name": not in a workflow' }
  }
  if (!isAboutPullRequest(common.eventName) && !isMergeGroup(common)) {
    const headSha = environment.GITHUB_SHA ?? ''
    const run = { ...common, pullNumber: null, headSha, baseSha: null, otherBase: null, isOfFork: false }
    return { status: 'complete', run }
  }
  const read = isMergeGroup(common) ? groupFactsIn : pullFactsIn
  const reading = readEvent(environment.GITHUB_EVENT_PATH ?? '', read)
  if ('reason' in reading) {
    const run = { ...common, ...guessPullFacts(environment) }
    return { status: 'without-event', run, reason: reading.reason }
  }
  return { status: 'complete', run: { ...common, ...reading } }
}

/** What the runner itself says of this run; the owner is '' outside of a workflow. */
export function readRunFacts(environment: Environment = process.env) {
  const [owner = '', repo = ''] = (environment.GITHUB_REPOSITORY ?? '').split('/')
  const serverUrl = environment.GITHUB_SERVER_URL || 'https://github.com'
  const runId = wholeNumber(environment.GITHUB_RUN_ID, 0)
  const runAttempt = wholeNumber(environment.GITHUB_RUN_ATTEMPT, 1)
  return {
    owner,
    repo,
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

/** Pull requests that a merge queue tries together. A required check has to be on their common head. */
export function isMergeGroup({ eventName }: Pick<WorkflowRun, 'eventName'>): boolean {
  return eventName === 'merge_group'
}

function readEvent(
  path: string,
  factsIn: (payload: unknown) => PullFacts,
): PullFacts | { readonly reason: string } {
  try {
    return factsIn(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    const cause = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error)
    return { reason: `GITHUB_EVENT_PATH: "${path}" is not a readable pull request event: ${cause}` }
  }
}

function pullFactsIn(payload: unknown): PullFacts {
  const { pull_request: pull } = pullRequestEvent.parse(payload)
  const { sha: baseSha, ref, repo } = pull.base
  const otherBase = ref === repo.default_branch ? null : ref
  const isOfFork = pull.head.repo?.full_name !== repo.full_name
  return { pullNumber: pull.number, headSha: pull.head.sha, baseSha, otherBase, isOfFork }
}

/** Its commit lies in the repository itself. */
function groupFactsIn(payload: unknown): PullFacts {
  const { merge_group: group, repository } = mergeGroupEvent.parse(payload)
  const base = branchOf(group.base_ref)
  return {
    pullNumber: null,
    headSha: group.head_sha,
    baseSha: group.base_sha,
    otherBase: base === repository.default_branch ? null : base,
    isOfFork: false,
  }
}

export function branchOf(ref: string): string {
  return ref.replace(/^refs\/heads\//, '')
}

/** GITHUB_REF of a pull request is refs/pull/7/merge, GITHUB_BASE_REF the branch it is for. */
function guessPullFacts(environment: Environment): PullFacts {
  const [, number] = /^refs\/pull\/(\d+)\//.exec(environment.GITHUB_REF ?? '') ?? []
  return {
    pullNumber: number ? Number(number) : null,
    headSha: environment.GITHUB_SHA ?? '',
    baseSha: null,
    otherBase: environment.GITHUB_BASE_REF || null,
    // Nothing says that it is not.
    isOfFork: true,
  }
}

function wholeNumber(text: string | undefined, otherwise: number): number {
  return text && /^\d+$/.test(text) ? Number(text) : otherwise
}
