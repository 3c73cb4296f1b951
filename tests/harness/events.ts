// Event payloads as GitHub sends them, from its webhook examples; the fork is derived.
import { createRequire } from 'node:module'
import { z } from 'zod'
import type { ActionOptions } from './runner.ts'

type Event = NonNullable<ActionOptions['event']>

const pullPayload = z.looseObject({
  action: z.string(),
  number: z.number(),
  pull_request: z.looseObject({
    head: z.looseObject({ sha: z.string(), repo: z.looseObject({ full_name: z.string() }) }),
    base: z.looseObject({
      sha: z.string(),
      ref: z.string(),
      repo: z.looseObject({ full_name: z.string() }),
    }),
  }),
})
const runPayload = z.looseObject({
  action: z.string(),
  workflow_run: z.looseObject({}),
  repository: z.looseObject({}),
})
const groupPayload = z.looseObject({ merge_group: z.looseObject({}), repository: z.looseObject({}) })
const examples = z.array(z.object({ name: z.string(), examples: z.array(z.unknown()) }))

export const REPOSITORY = 'octo-lab/solver'
export const PULL_NUMBER = 7
export const HEAD_SHA = 'a1b2c3d4e5f60718293a4b5c6d7e8f9012345678'

export const BASE_SHA = 'b1a2c3d4e5f60718293a4b5c6d7e8f9012345678'

export type Head = 'own branch' | 'fork' | 'deleted fork'

/** GITHUB_SHA is the trial merge, as on a real pull request. */
export function pullRequestEvent(
  head: Head = 'own branch',
  name = 'pull_request',
  baseBranch = 'main',
): Event {
  const payload = pullPayload.parse(findExample('pull_request', 'synchronize'))
  const { pull_request: pull } = payload
  payload.number = PULL_NUMBER
  pull.number = PULL_NUMBER
  Object.assign(pull.base, { ref: baseBranch, sha: BASE_SHA })
  Object.assign(pull.base.repo, { full_name: REPOSITORY, default_branch: 'main' })
  Object.assign(pull.head, { sha: HEAD_SHA, repo: headRepository(head, pull.head.repo) })
  return { name, payload, variables: { GITHUB_REF: `refs/pull/${PULL_NUMBER}/merge` } }
}

function headRepository(head: Head, repository: { full_name: string }) {
  if (head === 'deleted fork') return null
  return head === 'fork'
    ? { ...repository, full_name: 'contributor/solver', fork: true }
    : { ...repository, full_name: REPOSITORY }
}

export const GROUP_SHA = 'c1a2c3d4e5f60718293a4b5c6d7e8f9012345678'

/** A merge queue asks for the checks of what it is about to merge. */
export function mergeGroupEvent(baseBranch = 'main'): Event {
  const payload = groupPayload.parse(findExample('merge_group', 'checks_requested'))
  Object.assign(payload.merge_group, {
    head_sha: GROUP_SHA,
    head_ref: `refs/heads/${queueBranch(baseBranch)}`,
    base_sha: BASE_SHA,
    base_ref: `refs/heads/${baseBranch}`,
  })
  payload.repository = { ...payload.repository, full_name: REPOSITORY, default_branch: 'main' }
  return { name: 'merge_group', payload }
}

/** What GitHub calls the branch of a merge group. */
export function queueBranch(baseBranch = 'main'): string {
  return `gh-readonly-queue/${baseBranch}/pr-${PULL_NUMBER}-${BASE_SHA}`
}

export function dispatchEvent(inputs: Record<string, string> = {}): Event {
  return { name: 'workflow_dispatch', payload: { inputs, ref: 'refs/heads/main' } }
}

/** A whole pull request as REST gives it, from the example of a webhook. */
export function examplePull(): Readonly<Record<string, unknown>> {
  return pullPayload.parse(findExample('pull_request', 'synchronize')).pull_request
}

export interface RunFacts {
  action?: 'requested' | 'completed'
  runId?: number
  runAttempt?: number
  conclusion?: string
  headSha?: string
  headBranch?: string | null
  headRepository?: string | null
  /** What started it. */
  event?: string
}

/** What the report workflow gets: of another run, from the default branch. */
export function workflowRunEvent(facts: RunFacts = {}): Event {
  const payload = runPayload.parse(findExample('workflow_run', 'completed'))
  const { action = 'completed', headRepository = REPOSITORY } = facts
  payload.action = action
  payload.repository = { ...payload.repository, full_name: REPOSITORY, default_branch: 'main' }
  Object.assign(payload.workflow_run, {
    id: facts.runId ?? 1001,
    event: facts.event ?? 'pull_request',
    run_attempt: facts.runAttempt ?? 1,
    conclusion: action === 'requested' ? null : (facts.conclusion ?? 'success'),
    head_sha: facts.headSha ?? HEAD_SHA,
    head_branch: facts.headBranch === undefined ? 'faster' : facts.headBranch,
    head_repository: headRepository === null ? null : { full_name: headRepository },
    // Empty for forks, and so never to be relied on.
    pull_requests: [],
  })
  return { name: 'workflow_run', payload, variables: { GITHUB_RUN_ID: '2001', GITHUB_JOB: 'report' } }
}

/** Somebody has commented on the pull request. */
export function commentEvent(): Event {
  const payload = {
    action: 'created',
    issue: {
      number: PULL_NUMBER,
      pull_request: { url: 'https://api.github.com/repos/octo-lab/solver/pulls/7' },
    },
    repository: { full_name: REPOSITORY, default_branch: 'main' },
  }
  return { name: 'issue_comment', payload, variables: { GITHUB_RUN_ID: '2002', GITHUB_JOB: 'report' } }
}

function findExample(name: string, action: string): unknown {
  // The package is one JSON file: only require() takes that without an import attribute.
  const all = examples.parse(createRequire(import.meta.url)('@octokit/webhooks-examples'))
  const payloads = all.find((one) => one.name === name)?.examples ?? []
  return payloads.find((one) => z.object({ action: z.literal(action) }).safeParse(one).success)
}
