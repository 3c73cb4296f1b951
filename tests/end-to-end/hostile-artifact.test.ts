// The artifact and the pull request are somebody else's: neither gives a verdict, a place or a command away.
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { HEAD_SHA, workflowRunEvent } from '../harness/events.ts'
import { ARTIFACT, type Measured, measureForReport, report, servicesWith } from '../harness/report-job.ts'

const OPTIMIZED = 'runs/02-block-1-optimized/trainer/metrics.jsonl'
const NASTY = '<script>alert(1)</script> @octocat #1 | `x` [a](b) ::error::x ##[error]x'
const anyResult = z.looseObject({
  overrides: z.looseObject({}),
  verdict: z.looseObject({}),
  launches: z.array(z.looseObject({})),
  experiment: z.looseObject({ gates: z.looseObject({}) }),
})

let measured: Measured

beforeAll(async () => {
  measured = await measureForReport({ optimized: { step_seconds: 0.002 } })
})

function resultWith(change: (result: z.infer<typeof anyResult>) => void): Record<string, string> {
  const result = anyResult.parse(JSON.parse(measured.files['result.json']?.toString() ?? ''))
  change(result)
  return { 'result.json': JSON.stringify(result) }
}

describe('the check stays a failure when the artifact', () => {
  it.each([
    [
      'says that it passed',
      () => resultWith(({ verdict }) => Object.assign(verdict, { verdict: 'passed', gates: [] })),
    ],
    [
      'lowers its gates',
      () => resultWith(({ experiment }) => Object.assign(experiment.gates, { speedup: { at_least: 0.1 } })),
    ],
    [
      'lowers them by inputs',
      () => resultWith(({ overrides }) => Object.assign(overrides, { 'min-speedup': 0.1 })),
    ],
    ['leaves a launch out', () => resultWith(({ launches }) => launches.pop())],
    [
      'leaves a launch out and says that it was not needed',
      () =>
        resultWith((result) =>
          Object.assign(result, { launches: result.launches.slice(0, 1), notRun: 'decided' }),
        ),
    ],
    ['has numbers that are texts', () => ({ [OPTIMIZED]: '{"event":"run_start","seed":"1"}\n' })],
    ['has no metrics', () => ({ [OPTIMIZED]: '' })],
    ['has a result of another shape', () => ({ 'result.json': '{"schemaVersion": 99}' })],
    ['has a result that is no JSON', () => ({ 'result.json': NASTY })],
  ])('%s', async (_, changes) => {
    await using services = await servicesWith(measured, changes())
    const { exitCode } = await report(services)
    expect(exitCode).toBe(0)
    expect(services.github.checks).toMatchObject([{ status: 'completed', conclusion: 'failure' }])
    expect(services.github.comments).toHaveLength(1)
  })
})

it('what it quotes is text on every surface, and no command in the log', async () => {
  const hostile = { exitCode: 1, status: 'exited', wallSeconds: 1 }
  const errors = [{ rank: 0, cause: 'error', message: `${NASTY}\n::error::x\r##[error]x`, step: null }]
  const changes = resultWith(({ launches }) => Object.assign(launches[1] ?? {}, { result: hostile, errors }))
  await using services = await servicesWith(measured, changes)
  const { summary, lines, commands } = await report(services)
  const [comment] = services.github.comments
  const [check] = services.github.checks
  for (const markdown of [comment?.body, check?.output.summary, check?.output.text, summary]) {
    expect(markdown).not.toMatch(/<script|@octocat|\s#1\b/)
  }
  expect(comment?.body).toContain('alert(1)')
  expect(lines.join('\n')).toContain('alert(1)')
  expect(commands.map(({ name, properties }) => [name, properties.title])).toEqual([
    ['error', 'Speedproof: faulty failed'],
  ])
})

it('the pull request is the one of the run, whatever number the artifact brings', async () => {
  await using services = await servicesWith(measured, {
    'pr-number.txt': '3',
    'runs/pr.json': '{"number":3}',
  })
  const { outputs } = await report(services)
  expect(outputs['comment-url']).toContain('/pull/7#')
})

it('a pull request with the same branch name in another fork gets nothing', async () => {
  await using services = await servicesWith(measured)
  const fork = { headRepository: 'contributor/solver', headBranch: 'faster' }
  await report(services, { event: workflowRunEvent(fork) })
  expect(services.github.comments).toEqual([])
})

it('titles and branch names of a pull request are shown nowhere, nor run', async () => {
  const branch = '`$(touch owned)`::error::x'
  await using services = await servicesWith(measured)
  Object.assign(services.github.pulls[0] ?? {}, { headBranch: branch, title: NASTY })
  const { commands, lines } = await report(services, { event: workflowRunEvent({ headBranch: branch }) })
  expect(services.github.checks).toMatchObject([{ head_sha: HEAD_SHA }])
  const shown = [...lines, services.github.comments[0]?.body, services.github.checks[0]?.output.summary]
  expect(shown.join('\n')).not.toMatch(/touch|alert\(1\)/)
  expect(commands).toMatchObject([{ properties: { title: 'Speedproof: faulty failed' } }])
})

it('an artifact that is too large is not read', async () => {
  await using services = await servicesWith(measured)
  services.github.archives.unshift({
    name: ARTIFACT,
    runId: 1001,
    bytes: Buffer.from('PK'),
    announcedBytes: 2 ** 40,
  })
  await report(services)
  expect(services.github.checks).toMatchObject([
    { conclusion: 'failure', output: { title: expect.stringContaining('is larger than') } },
  ])
})
