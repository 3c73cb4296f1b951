// What happens to a repository, as the event that GitHub makes of it.
import { z } from 'zod'
import { findExample, HEAD_SHA, type Head, pullRequestEvent, REPOSITORY } from '../events.ts'
import type { Happening } from './run-workflow.ts'

/** A push to the pull request, or its opening. */
export function pushed(head: Head = 'own branch', runId = 1001): Happening {
  return { ...inRepository('pull_request', pullRequestEvent(head).payload), runId }
}

export function labeled(name: string, head: Head = 'fork', runId = 1001): Happening {
  const label = { action: 'labeled', label: { name } }
  return { ...inRepository('pull_request_target', pullRequestEvent(head).payload, label), runId }
}

/** Inputs that are left alone have the defaults of the form. */
export function dispatched(inputs: Readonly<Record<string, string>> = {}): Happening {
  return inRepository('workflow_dispatch', { repository: { fork: false } }, { inputs })
}

export function scheduled(fork = false): Happening {
  return inRepository('schedule', { repository: { fork } }, { schedule: '17 2 * * *' })
}

export function runEnded(workflow: string, event: string, action = 'completed'): Happening {
  const example = z
    .looseObject({ workflow_run: z.looseObject({}) })
    .parse(findExample('workflow_run', action))
  const run = { ...example.workflow_run, event, head_sha: HEAD_SHA }
  return inRepository('workflow_run', example, { workflow: { name: workflow }, workflow_run: run })
}

export function commented(body: string, on: 'pull request' | 'issue'): Happening {
  const example = z.looseObject({ issue: z.looseObject({}) }).parse(findExample('issue_comment', 'created'))
  const issue = {
    ...example.issue,
    pull_request: on === 'pull request' ? { url: 'https://api.github.com' } : undefined,
  }
  return inRepository('issue_comment', example, { issue, comment: { body } })
}

function inRepository(
  name: string,
  example: unknown,
  changes: Readonly<Record<string, unknown>> = {},
): Happening {
  const { repository, ...rest } = z.looseObject({ repository: z.looseObject({}) }).parse(example)
  return { name, payload: { ...rest, repository: { ...repository, full_name: REPOSITORY }, ...changes } }
}
