// What happens to a repository, as the event that GitHub makes of it.
import { z } from 'zod'
import {
  commentEvent,
  GROUP_SHA,
  type Head,
  mergeGroupEvent,
  pullRequestEvent,
  queueBranch,
  REPOSITORY,
  workflowRunEvent,
} from '../events.ts'
import type { Happening } from './run-workflow.ts'

/** A push to the pull request, or its opening. */
export function pushed(head: Head = 'own branch', runId = 1001): Happening {
  return { ...inRepository('pull_request', pullRequestEvent(head).payload), runId }
}

/** A merge queue asks for the checks of a group of pull requests. */
export function queued(baseBranch = 'main', runId = 1001): Happening {
  return { ...inRepository('merge_group', mergeGroupEvent(baseBranch).payload), runId }
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

/** Another workflow has been asked for, or has ended; what it measured is run 1001. */
export function runOf(
  workflow: string,
  event: string,
  action: 'requested' | 'completed' = 'completed',
): Happening {
  const ofGroup = event === 'merge_group' ? { headSha: GROUP_SHA, headBranch: queueBranch() } : {}
  const { name, payload } = workflowRunEvent({ action, ...ofGroup })
  const run = z.looseObject({ workflow_run: z.looseObject({}) }).parse(payload).workflow_run
  const changes = { workflow: { name: workflow }, workflow_run: { ...run, event } }
  return { ...inRepository(name, payload, changes), runId: 2001 }
}

export function commented(body: string, on: 'pull request' | 'issue' = 'pull request'): Happening {
  const { name, payload } = commentEvent()
  const { issue } = z.looseObject({ issue: z.looseObject({}) }).parse(payload)
  const subject = on === 'pull request' ? issue : { ...issue, pull_request: undefined }
  return { ...inRepository(name, payload, { issue: subject, comment: { body } }), runId: 2002 }
}

function inRepository(
  name: string,
  example: unknown,
  changes: Readonly<Record<string, unknown>> = {},
): Happening {
  const { repository, ...rest } = z.looseObject({ repository: z.looseObject({}) }).parse(example)
  return {
    name,
    payload: {
      ...rest,
      repository: { ...repository, full_name: REPOSITORY, default_branch: 'main' },
      ...changes,
    },
  }
}
