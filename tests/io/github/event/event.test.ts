// What a run is about, from the runner's variables and the event file.
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readWorkflowRun } from '../../../../src/io/github/event/event.ts'
import {
  BASE_SHA,
  dispatchEvent,
  GROUP_SHA,
  HEAD_SHA,
  mergeGroupEvent,
  pullRequestEvent,
} from '../../../harness/events.ts'

type Event = ReturnType<typeof pullRequestEvent>
const MERGE_SHA = 'e'.repeat(40)

async function read(event: Event, changes: Record<string, string | undefined> = {}) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'speedproof-event-'))
  const path = join(folder.path, 'event.json')
  await writeFile(path, typeof event.payload === 'string' ? event.payload : JSON.stringify(event.payload))
  return readWorkflowRun({
    GITHUB_REPOSITORY: 'octo-lab/solver',
    GITHUB_EVENT_NAME: event.name,
    GITHUB_EVENT_PATH: path,
    GITHUB_SHA: MERGE_SHA,
    GITHUB_RUN_ID: '1001',
    GITHUB_RUN_ATTEMPT: '2',
    GITHUB_JOB: 'measure',
    ...event.variables,
    ...changes,
  })
}

describe('a pull request', () => {
  it('is about its head, not about the trial merge', async () => {
    expect(await read(pullRequestEvent())).toEqual({
      status: 'complete',
      run: {
        owner: 'octo-lab',
        repo: 'solver',
        eventName: 'pull_request',
        pullNumber: 7,
        headSha: HEAD_SHA,
        baseSha: BASE_SHA,
        runId: 1001,
        runAttempt: 2,
        runUrl: 'https://github.com/octo-lab/solver/actions/runs/1001/attempts/2',
        serverUrl: 'https://github.com',
        otherBase: null,
        isOfFork: false,
        job: 'measure',
      },
    })
  })

  it.each(['fork', 'deleted fork'] as const)(
    'from a %s is about the same, and known as one',
    async (head) => {
      const run = { pullNumber: 7, headSha: HEAD_SHA, isOfFork: true }
      expect(await read(pullRequestEvent(head))).toMatchObject({ run })
    },
  )

  it('into another branch than the default one names it', async () => {
    const event = pullRequestEvent('own branch', 'pull_request', 'release')
    expect(await read(event)).toMatchObject({ run: { otherBase: 'release' } })
  })

  it.each([
    ['empty', ''],
    ['half a line', '{"pull_request": {'],
    ['about something else', '{"issue": {"number": 7}}'],
  ])('with an event file that is %s is known by its ref and base only', async (_, payload) => {
    const environment = { GITHUB_BASE_REF: 'release' }
    expect(await read({ ...pullRequestEvent(), payload }, environment)).toMatchObject({
      status: 'without-event',
      run: { pullNumber: 7, headSha: MERGE_SHA, otherBase: 'release', isOfFork: true },
      reason: expect.stringContaining('is not a readable pull request event'),
    })
  })

  it('without an event file is not an error', async () => {
    const reading = await read(pullRequestEvent(), { GITHUB_EVENT_PATH: undefined })
    expect(reading).toMatchObject({ status: 'without-event', run: { pullNumber: 7 } })
  })
})

describe('another event', () => {
  it('is about the commit of the run', async () => {
    const reading = await read(dispatchEvent())
    expect(reading).toMatchObject({ status: 'complete', run: { pullNumber: null, headSha: MERGE_SHA } })
  })

  it('does not need its file', async () => {
    const reading = await read({ ...dispatchEvent(), payload: 'garbage' })
    expect(reading).toMatchObject({ status: 'complete', run: { pullNumber: null } })
  })
})

it('is not in a workflow without a repository', () => {
  expect(readWorkflowRun({})).toMatchObject({ status: 'not-in-a-workflow' })
})

it('a merge group is about its own head and base, and about no pull request alone', async () => {
  const run = { pullNumber: null, headSha: GROUP_SHA, baseSha: BASE_SHA, otherBase: null, isOfFork: false }
  expect(await read(mergeGroupEvent())).toMatchObject({ status: 'complete', run })
  expect(await read(mergeGroupEvent('release'))).toMatchObject({ run: { otherBase: 'release' } })
})
