// The sticky comment, from an action's process to a GitHub over HTTP.
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { renderMarker } from '../../../../src/report/github/comment-marker.ts'
import { dispatchEvent, HEAD_SHA, pullRequestEvent } from '../../../harness/events.ts'
import { type Failure, type FakeGitHub, startFakeGitHub } from '../../../harness/fake-github.ts'
import { refuse } from '../../../harness/local-server.ts'
import { type ActionOptions, runAction } from '../../../harness/runner.ts'

const ENTRY = fileURLToPath(new URL('../../../fixtures/actions/comment.ts', import.meta.url))
const BOT = 'github-actions[bot]'
const OUR_RUN = { key: 'smoke', headSha: HEAD_SHA, runId: 1001, runAttempt: 1 }
const outcomeText = z.string().transform((text) => z.record(z.string(), z.string()).parse(JSON.parse(text)))

async function comment(github: FakeGitHub, changes: Partial<ActionOptions> = {}) {
  const { main } = await runAction({
    main: ENTRY,
    event: pullRequestEvent(),
    ...changes,
    inputs: { 'github-token': 'job-token', body: 'passed', ...changes.inputs },
    environment: { GITHUB_API_URL: github.url, ...changes.environment },
  })
  expect(main).toMatchObject({ exitCode: 0 })
  return outcomeText.parse(main.outputs.outcome)
}

function ourComment(changes: Partial<typeof OUR_RUN>, text = 'old') {
  return { author: BOT, body: `${renderMarker({ ...OUR_RUN, ...changes })}\n${text}` }
}

describe('one comment', () => {
  it('is created, then updated by the next attempt', async () => {
    await using github = await startFakeGitHub()
    expect(await comment(github)).toMatchObject({
      status: 'created',
      url: expect.stringContaining('/pull/7#'),
    })
    const again = { inputs: { body: 'failed' }, environment: { GITHUB_RUN_ATTEMPT: '2' } }
    expect(await comment(github, again)).toMatchObject({ status: 'updated' })
    expect(github.comments).toEqual([{ id: 101, ...ourComment({ runAttempt: 2 }, 'failed') }])
  })

  it('is found behind 250 older comments', async () => {
    await using github = await startFakeGitHub()
    github.addComments(...Array.from({ length: 250 }, (_, n) => ({ author: 'octocat', body: `remark ${n}` })))
    github.addComments(ourComment({ runId: 900 }))
    expect(await comment(github)).toMatchObject({ status: 'updated' })
    expect(github.calls.filter((call) => call === 'issues/list-comments')).toHaveLength(3)
    expect(github.comments).toHaveLength(251)
  })

  it('is not the one that someone else marked as ours', async () => {
    await using github = await startFakeGitHub()
    const forged = { ...ourComment({ runId: 900 }), author: 'octocat' }
    github.addComments(forged)
    expect(await comment(github)).toMatchObject({ status: 'created' })
    expect(github.comments[0]).toMatchObject(forged)
  })

  it('is not one that quotes ours, nor one of another experiment', async () => {
    await using github = await startFakeGitHub()
    github.addComments(
      { author: BOT, body: `> see\n${renderMarker(OUR_RUN)}` },
      ourComment({ key: 'nightly' }),
    )
    expect(await comment(github)).toMatchObject({ status: 'created' })
  })

  it('belongs to the person whose token is used', async () => {
    await using github = await startFakeGitHub()
    github.addComments(ourComment({ runId: 900 }))
    const inputs = { 'github-token': 'person-token' }
    expect(await comment(github, { inputs })).toMatchObject({ status: 'created' })
    expect(await comment(github, { inputs })).toMatchObject({ status: 'updated' })
    expect(github.comments.map((one) => one.author)).toEqual([BOT, 'octocat'])
  })

  it.each([
    ['a newer run', { runId: 1002 }],
    ['a newer attempt', { runAttempt: 2 }],
  ])('keeps the result of %s', async (_, newer) => {
    await using github = await startFakeGitHub()
    github.addComments(ourComment({ runId: 900 }), ourComment(newer, 'newer result'))
    expect(await comment(github)).toMatchObject({
      status: 'skipped',
      reason: expect.stringContaining('is newer'),
    })
    expect(github.comments).toHaveLength(2)
  })

  it('replaces the duplicates that two runs at once have left', async () => {
    await using github = await startFakeGitHub()
    github.addComments(ourComment({ runId: 900 }), ourComment({ runId: 901 }))
    expect(await comment(github)).toMatchObject({ status: 'updated' })
    expect(github.comments).toEqual([{ id: 101, ...ourComment({}, 'passed') }])
  })
})

describe('a fault that passes', () => {
  const limited = refuse(403, 'You have exceeded a secondary rate limit', { 'retry-after': '0' })
  const faults: [string, Failure][] = [
    ['500', refuse(500, 'Server Error')],
    ['502', refuse(502, 'Bad Gateway')],
    ['429', refuse(429, 'Too Many Requests', { 'retry-after': '0' })],
    ['secondary rate limit', limited],
    ['dropped connection', { kind: 'dropped' }],
  ]

  it.each(faults)('%s is tried again', async (_, fault) => {
    await using github = await startFakeGitHub()
    github.failNext('issues/list-comments', fault)
    expect(await comment(github)).toMatchObject({ status: 'created' })
  })

  it('does not make a second comment when only the answer was lost', async () => {
    await using github = await startFakeGitHub()
    github.failNext('issues/create-comment', { kind: 'answer lost after the change' })
    expect(await comment(github)).toMatchObject({ status: 'updated' })
    expect(github.comments).toHaveLength(1)
  })
})

describe('a fault that stays', () => {
  const create = 'issues/create-comment'
  const hour = { 'retry-after': '3600' }
  const faults: [string, Failure, RegExp][] = [
    ['401', refuse(401, 'Bad credentials'), /401 .*token is not valid/],
    ['404', refuse(404, 'Not Found'), /404 .*the token cannot read it/],
    ['422', refuse(422, 'Validation Failed'), /422 .*Validation Failed/],
    ['429 with an hour to wait', refuse(429, 'Too Many Requests', hour), /429 .*rate limit/],
    ['500', refuse(500, 'Server Error'), /500 .*re-run the job later/],
    ['dropped connection', { kind: 'dropped' }, /no answer from GitHub .*network/],
    ['silence', { kind: 'hanging' }, /no answer from GitHub/],
  ]

  it.each(faults)('%s is a failed outcome with its reason', async (_, fault, reason) => {
    await using github = await startFakeGitHub()
    github.failNext(create, fault, fault)
    const environment: Record<string, string> = fault.kind === 'hanging' ? { PATIENCE_MS: '1000' } : {}
    const outcome = await comment(github, { environment })
    expect(outcome).toEqual({ status: 'failed', reason: expect.stringMatching(reason) })
    expect(github.comments).toEqual([])
  })

  it('names the remedy when a fork has a read-only token', async () => {
    await using github = await startFakeGitHub()
    const outcome = await comment(github, {
      event: pullRequestEvent('fork'),
      inputs: { 'github-token': 'read-only-token' },
    })
    expect(outcome).toMatchInlineSnapshot(`
      {
        "reason": "comment on pull request 7: GitHub answered 403 (Resource not accessible by integration - https://docs.github.com/rest): the token lacks a permission; give the job "permissions: pull-requests: write, checks: write". For a pull request from a fork the token is always read-only: report from the artifact instead",
        "status": "failed",
      }
    `)
  })

  it('says that a body of 70,000 characters is too long', async () => {
    await using github = await startFakeGitHub()
    const outcome = await comment(github, { inputs: { body: 'x'.repeat(70_000) } })
    expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringContaining('Body is too long') })
  })
})

describe('no comment is tried', () => {
  it.each([
    ['without a token', { inputs: { 'github-token': '' } }, 'no token'],
    ['when the run is not about a pull request', { event: dispatchEvent() }, 'not about a pull request'],
  ])('%s', async (_, changes, reason) => {
    await using github = await startFakeGitHub()
    expect(await comment(github, changes)).toMatchObject({
      status: 'skipped',
      reason: expect.stringContaining(reason),
    })
    expect(github.calls).toEqual([])
  })
})
