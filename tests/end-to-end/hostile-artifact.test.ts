// The artifact and the pull request are somebody else's: neither gives a verdict, a place or a command away.
import { existsSync, readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { aFolder } from '../fixtures/processes/launching.ts'
import { HEAD_SHA, workflowRunEvent } from '../harness/events.ts'
import { ARTIFACT, type Measured, measureForReport, report, servicesWith } from '../harness/report-job.ts'
import { type Services, startMeasuring } from '../harness/speedproof.ts'
import type { WorkflowCommand } from '../harness/workflow-commands.ts'

const OPTIMIZED = 'runs/02-block-1-optimized/trainer/metrics.jsonl'
const BASELINE = 'runs/01-block-1-baseline/trainer/metrics.jsonl'
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

const lines = (name: string) => (measured.files[name] ?? Buffer.alloc(0)).toString().trim().split('\n')

/** The metrics of the optimized run with another first event. */
function metricsWith(start: Readonly<Record<string, unknown>>): Record<string, string> {
  const [first = '', ...others] = lines(OPTIMIZED)
  return { [OPTIMIZED]: [JSON.stringify({ ...JSON.parse(first), ...start }), ...others].join('\n') }
}

function stepsOf(seconds: number): string {
  return lines(OPTIMIZED)
    .map((line) =>
      line.replaceAll(/"step_seconds": ?\[[^\]]*\]/g, (column) => {
        const count = column.split(',').length
        return `"step_seconds":[${Array(count).fill(seconds).join(',')}]`
      }),
    )
    .join('\n')
}

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

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
    ['nests its result 100,000 deep', () => ({ 'result.json': `{"launches":${nested(100_000)}}` })],
    [
      'nests a config in it 2,000 deep',
      () => ({
        'result.json': lines('result.json')
          .join('\n')
          .replace('"configs": {', `"configs": {"x":${nested(2000)},`),
      }),
    ],
    [
      'nests an event 5,000 deep',
      () => ({ [OPTIMIZED]: `{"event":"run_start","schema_version":1,"config":{"x":${nested(5000)}}}\n` }),
    ],
    [
      'has a message of 60 MB',
      () =>
        resultWith(({ launches }) =>
          Object.assign(launches[1] ?? {}, {
            errors: [{ rank: 0, cause: 'error', message: 'x'.repeat(60e6), step: null }],
          }),
        ),
    ],
    ['reads back a key that every object has', () => metricsWith({ effective: { constructor: 'fused' } })],
    [
      'calls such a key its work',
      () => metricsWith({ effective: { toString: 'x' }, work_keys: ['toString'] }),
    ],
    [
      'has such keys in its config',
      () => metricsWith({ config: { ['__proto__']: { steps: 1 }, constructor: [], valueOf: 1 } }),
    ],
    ['has steps of no time at all', () => ({ [OPTIMIZED]: stepsOf(1e-300) })],
    ['has steps that add up to no number', () => ({ [BASELINE]: stepsOf(1e308) })],
    ['has 64 MB of empty lines', () => ({ [OPTIMIZED]: Buffer.alloc(64 * 1024 ** 2, '\n') })],
  ])('%s', async (_, changes) => {
    await using services = await servicesWith(measured, changes())
    const { exitCode, outputs } = await report(services)
    expect(outputs.verdict).not.toBe('passed')
    expect(exitCode).toBe(0)
    expect(services.github.checks).toMatchObject([{ status: 'completed', conclusion: 'failure' }])
    expect(services.github.comments).toHaveLength(1)
  })
})

/** The upload of the HTML report hides the signature of its address, and writes what only a debugging step shows. */
function shownCommands(commands: readonly WorkflowCommand[]): WorkflowCommand[] {
  return commands.filter(({ name }) => name !== 'add-mask' && name !== 'debug')
}

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
  expect(shownCommands(commands).map(({ name, properties }) => [name, properties.title])).toEqual([
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
  expect(shownCommands(commands)).toMatchObject([{ properties: { title: 'Speedproof: faulty failed' } }])
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

it('what unpacks to more than a measuring job uploads is not read', async () => {
  const zeros = Buffer.alloc(50 * 1024 ** 2)
  const runs = Array.from({ length: 36 }, (_, run) => [`runs/${run}-block-1-baseline/machine.jsonl`, zeros])
  await using services = await servicesWith(measured, Object.fromEntries(runs))
  await report(services)
  expect(services.github.checks).toMatchObject([
    { conclusion: 'failure', output: { title: expect.stringContaining('at most') } },
  ])
})

describe('in less than 1 GB of memory', () => {
  /** Small in a file, and many times as large in memory. */
  const SAMPLE = '{"event":"gpu","seconds":0.5,"gpu":0}\n'
  const column = (value: number) => Array(1_000_000).fill(value)

  it('as many steps and samples as two runs may have are judged', async () => {
    const window = { event: 'steps', first_step: 1, step_seconds: column(0.002), samples: column(1) }
    const losses = { train_loss: column(1), data_wait_seconds: column(0) }
    const changes = Object.fromEntries(
      ['01-block-1-baseline', '02-block-1-optimized'].flatMap((run) => {
        const name = `runs/${run}/trainer/metrics.jsonl`
        const [start, ...others] = lines(name).filter((line) => !/"event": ?"steps"/.test(line))
        const events = [start, JSON.stringify({ ...window, ...losses }), ...others]
        return [
          [name, events.join('\n')],
          [
            `runs/${run}/machine.jsonl`,
            `${lines(`runs/${run}/machine.jsonl`)[0]}\n${SAMPLE.repeat(600_000)}`,
          ],
        ]
      }),
    )
    await using services = await servicesWith(measured, changes)
    expect(await peakOf(services)).toBeLessThan(1e9)
    expect(services.github.checks).toMatchObject([
      { conclusion: 'failure', output: { title: expect.stringMatching(/^invalid: /) } },
    ])
  })

  it('more than fits is refused', async () => {
    const large = await measureForReport({ design: { blocks: 8 }, optimized: { step_seconds: 0.002 } })
    const names = Object.keys(large.files).filter((name) => name.endsWith('/machine.jsonl'))
    const changes = names.map((name) => [
      name,
      `${`${large.files[name]}`.split('\n')[0]}\n${SAMPLE.repeat(600_000)}`,
    ])
    await using services = await servicesWith(large, Object.fromEntries(changes))
    expect(await peakOf(services)).toBeLessThan(1e9)
    expect(services.github.checks).toMatchObject([
      { conclusion: 'failure', output: { title: expect.stringContaining('MB of memory to judge') } },
    ])
  }, 600_000)
})

async function peakOf(services: Services): Promise<number> {
  await using action = await startMeasuring(await aFolder(), services, {
    event: workflowRunEvent(),
    inputs: { job: 'report' },
  })
  let peak = 0
  const look = setInterval(() => {
    peak = Math.max(peak, peakMemoryOf(action.pid))
  }, 20)
  await action.finished
  clearInterval(look)
  return peak
}

/** The kernel's high-water mark; 0 for a process that has ended. */
function peakMemoryOf(pid: number): number {
  const file = `/proc/${pid}/status`
  const [, kilobytes = '0'] = existsSync(file)
    ? (/VmHWM:\s+(\d+) kB/.exec(readFileSync(file, 'utf8')) ?? [])
    : []
  return Number(kilobytes) * 1024
}
