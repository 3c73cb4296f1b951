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
    base: z.looseObject({ sha: z.string(), repo: z.looseObject({ full_name: z.string() }) }),
  }),
})
const examples = z.array(z.object({ name: z.string(), examples: z.array(z.unknown()) }))

export const REPOSITORY = 'octo-lab/solver'
export const PULL_NUMBER = 7
export const HEAD_SHA = 'a1b2c3d4e5f60718293a4b5c6d7e8f9012345678'

export const BASE_SHA = 'b1a2c3d4e5f60718293a4b5c6d7e8f9012345678'

export type Head = 'own branch' | 'fork' | 'deleted fork'

/** GITHUB_SHA is the trial merge, as on a real pull request. */
export function pullRequestEvent(head: Head = 'own branch', name = 'pull_request'): Event {
  const payload = pullPayload.parse(findExample('pull_request', 'synchronize'))
  const { pull_request: pull } = payload
  payload.number = PULL_NUMBER
  pull.number = PULL_NUMBER
  pull.base.repo.full_name = REPOSITORY
  pull.base.sha = BASE_SHA
  Object.assign(pull.head, { sha: HEAD_SHA, repo: headRepository(head, pull.head.repo) })
  return { name, payload, variables: { GITHUB_REF: `refs/pull/${PULL_NUMBER}/merge` } }
}

function headRepository(head: Head, repository: { full_name: string }) {
  if (head === 'deleted fork') return null
  return head === 'fork'
    ? { ...repository, full_name: 'contributor/solver', fork: true }
    : { ...repository, full_name: REPOSITORY }
}

export function dispatchEvent(inputs: Record<string, string> = {}): Event {
  return { name: 'workflow_dispatch', payload: { inputs, ref: 'refs/heads/main' } }
}

export function findExample(name: string, action: string): unknown {
  // The package is one JSON file: only require() takes that without an import attribute.
  const all = examples.parse(createRequire(import.meta.url)('@octokit/webhooks-examples'))
  const payloads = all.find((one) => one.name === name)?.examples ?? []
  return payloads.find((one) => z.object({ action: z.literal(action) }).safeParse(one).success)
}
