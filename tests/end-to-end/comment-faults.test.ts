// Trouble with the comment is a warning: verdict, exit code and the other surfaces stay.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { anExperiment, CRASHES_AT_ONCE } from '../fixtures/experiments/an-experiment.ts'
import { HEAD_SHA, pullRequestEvent } from '../harness/events.ts'
import { refuse } from '../harness/local-server.ts'
import { measure, startServices } from '../harness/speedproof.ts'

const ARTIFACT = 'speedproof-faulty-measure-attempt-1'
const passedNotice = { level: 'notice', title: 'Speedproof: faulty passed' }

it('a comment call that fails is a warning, which says what to do', async () => {
  const folder = await anExperiment()
  await using services = await startServices()
  // One for the note that it is being measured, one for the result.
  const refused = refuse(403, 'Resource not accessible by integration')
  services.github.failNext('issues/create-comment', refused, refused)
  const { main } = await measure(folder, services)
  expect(main).toMatchObject({ exitCode: 0, outputs: { verdict: 'passed', 'comment-url': '' } })
  expect(main.annotations).toMatchObject([
    passedNotice,
    {
      level: 'warning',
      title: 'Speedproof: comment',
      message: expect.stringMatching(/403 .*pull-requests: write, checks: write/),
    },
  ])
  expect(main.summary).toContain('Speedproof: faulty passed')
  expect(services.artifacts.uploaded[ARTIFACT]).toHaveProperty('result.json')
})

it('a pull request from a fork, whose token may only read, keeps its verdict', async () => {
  const folder = await anExperiment()
  await using services = await startServices()
  const inputs = { 'github-token': 'read-only-token' }
  const { main } = await measure(folder, services, { event: pullRequestEvent('fork'), inputs })
  expect(main).toMatchObject({ exitCode: 0, outputs: { verdict: 'passed' } })
  expect(main.annotations).toMatchObject([
    passedNotice,
    { title: 'Speedproof: comment', message: expect.stringContaining('report from the artifact instead') },
    { title: 'Speedproof: check', message: expect.stringContaining('report from the artifact instead') },
  ])
})

it.each(['fork', 'deleted fork'] as const)(
  'a %s under pull_request_target is not measured beside a token that writes',
  async (head) => {
    const folder = await anExperiment()
    await using services = await startServices()
    const event = pullRequestEvent(head, 'pull_request_target')
    const { main } = await measure(folder, services, { event })
    expect(main).toMatchObject({ exitCode: 1, outputs: {} })
    expect(main.annotations).toMatchObject([
      {
        level: 'error',
        message: expect.stringContaining('Set report: artifact, grant the job only contents: read'),
      },
    ])
    expect(existsSync(join(folder, 'out'))).toBe(false)
    expect(services.github.calls).toEqual([])
  },
)

it('a push during the measurement is said beside the result', async () => {
  const folder = await anExperiment()
  await using services = await startServices()
  const headSha = 'd'.repeat(40)
  Object.assign(services.github.pulls[0] ?? {}, { headSha })
  await measure(folder, services)
  const stale = `These results are for ${HEAD_SHA}; the head of the pull request is ${headSha}`
  expect(services.github.comments[0]?.body).toContain(stale)
  expect(services.github.checks).toMatchObject([{ head_sha: HEAD_SHA, conclusion: 'success' }])
})

it('a report that is too long for a comment loses details there, and nothing in the job summary', async () => {
  const folder = await anExperiment(CRASHES_AT_ONCE)
  const settings = Array.from({ length: 500 }, (_, number) => `  setting${number}: '${'|'.repeat(100)}'\n`)
  await writeFile(join(folder, 'optimized.yaml'), `steps: 20\nspeed:\n${settings.join('')}`)
  await using services = await startServices()
  const { main } = await measure(folder, services)
  const body = services.github.comments[0]?.body ?? ''
  expect(body).toContain('Speedproof: faulty failed')
  expect(body).toContain('| gate ')
  expect(body).toMatch(/Left out to fit GitHub's comment limit: .*differences/)
  const [isInComment, isInSummary] = [body, main.summary].map((text) => text.includes('setting499'))
  expect({ isInComment, isInSummary }).toEqual({ isInComment: false, isInSummary: true })
  expect(main.outputs['comment-url']).not.toBe('')
})
