// Rented machines against a real dstack server: what is rented is taken down, whatever happens on the way. "Gone" is read
// from Vast.ai's own books, which here are a fake's.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { longestMinutes } from '../../src/cloud/limits.ts'
import { machineName } from '../../src/cloud/names.ts'
import { pullRequestEvent } from '../harness/events.ts'
import { cloud, cloudAction, type Step, startCloud } from './harness/command.ts'
import { DstackServer, TOKEN } from './harness/dstack-server.ts'
import { FakeRunners, RUNNER_TOKEN } from './harness/fake-runners.ts'
import { type Behaviour, Vast } from './harness/vast.ts'

const BIN = join(import.meta.dirname, '../../.venv-dstack/bin')
/** By what becomes of the machines; dstack's names of the GPUs. */
const GPUS: Readonly<Record<Behaviour, readonly [vast: string, dstack: string]>> = {
  works: ['H100 SXM', 'H100'],
  refuses: ['A100 SXM4', 'A100'],
  breaks: ['L40S', 'L40S'],
  loads: ['L4', 'L4'],
  stays: ['H200', 'H200'],
}
const PROJECTS = [
  { name: 'main', communityCloud: false },
  { name: 'swept', communityCloud: false },
  { name: 'open', communityCloud: null },
]

const folder = mkdtempSync(join(tmpdir(), 'speedproof-cloud-'))
const started = new AsyncDisposableStack()
let vast: Vast
let runners: FakeRunners
let server: DstackServer
let other: DstackServer
let runs = 1000

beforeAll(async () => {
  vast = started.use(await Vast.start(folder, join(BIN, 'python')))
  for (const [behaviour, [gpu]] of Object.entries(GPUS))
    vast.offers.push({ gpu, dollarsPerHour: 2, behaviour: behaviour as Behaviour })
  runners = started.use(await FakeRunners.start(folder))
  const place = (name: string) => ({ folder: join(folder, name), bin: BIN, environment: vast.environment })
  const servers = [
    DstackServer.start(place('server'), PROJECTS),
    DstackServer.start(place('other'), PROJECTS),
  ]
  for (const one of await Promise.all(servers)) started.use(one)
  ;[server, other] = (await Promise.all(servers)) as [DstackServer, DstackServer]
  for (const [one, project] of [
    [server, 'main'],
    [server, 'swept'],
    [other, 'main'],
  ] as const)
    await one.makeFleet(project, 'speedproof', '0..20')
})

afterAll(async () => {
  await started.disposeAsync()
  rmSync(folder, { recursive: true, force: true })
})

/** A workflow run of its own. */
function newRun(of = server, project = 'main'): { step: Step; name: string } {
  runs += 1
  const place = { dstackUrl: of.url, dstackToken: TOKEN, project, githubUrl: runners.url }
  return {
    step: { folder, ...place, runId: runs, event: { name: 'workflow_dispatch', payload: {} } },
    name: machineName({ runId: runs, attempt: 1, leg: '' }),
  }
}

function wish(behaviour: Behaviour): string[] {
  // An image of its own, else dstack wraps the task into what its own image has.
  return ['--gpu', GPUS[behaviour][1], '--max-price', '3', '--max-minutes', '60', '--image', 'any/image']
}

/** Starts it, and loses the job that did so as soon as the machine is paid for. */
async function rentAndLose(behaviour: Behaviour, { step }: { step: Step }): Promise<void> {
  const starting = startCloud(step, 'start', ...wish(behaviour))
  await starting.waitFor('rented: ')
  starting.kill('SIGKILL')
  await starting.ended
}

describe.concurrent('a rented machine', () => {
  it('runs one job and is gone', async ({ expect }) => {
    const { step, name } = newRun()
    const inputs = { gpu: 'H100', 'max-price': '3', image: 'any/image', 'runner-token': RUNNER_TOKEN }
    const { exitCode, output, outputs } = await cloudAction(step, { command: 'start', ...inputs })
    const machine = vast.rentedAs(name)
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 })
    expect(output).toContain(`vastai, no-oslo, instance ${machine?.id}`)
    expect(outputs).toContain(JSON.stringify([name]))
    expect(runners.named(name)).toMatchObject({ status: 'online', labels: [name] })

    const runner = runners.named(name)
    runner.job = 'sent'
    runner.job = 'ended'
    // By itself: the last job only looks.
    await expect.poll(() => machine?.isDeleted, { timeout: 240_000 }).toBe(true)
    const stopped = await cloudAction(step, { command: 'stop' })
    expect(stopped).toMatchObject({ exitCode: 0, output: expect.stringContaining('gone: vastai') })
    for (const file of ['server/data/sqlite.db', 'server/data/sqlite.db-wal', 'server/server.log'])
      expect(readIfThere(join(folder, file))).not.toContain(RUNNER_TOKEN)
  })

  it('that no provider hands out fails the start, and costs nothing', async () => {
    const { step, name } = newRun()
    const { exitCode, output } = await cloud(step, 'start', ...wish('refuses'))
    expect({ exitCode, output }).toMatchObject({ exitCode: 1 })
    expect(output).toMatch(/no.capacity/i)
    expect(runners.registered.map((runner) => runner.name)).not.toContain(name)
    expect(await cloud(step, 'stop')).toMatchObject({ exitCode: 0 })
    expect(vast.rentedAs(name)).toBeUndefined()
  })

  it('that does not boot fails the start, and is gone', async () => {
    const { step, name } = newRun()
    const { exitCode, output } = await cloud(step, 'start', ...wish('breaks'))
    expect({ exitCode, output }).toMatchObject({ exitCode: 1 })
    expect(await cloud(step, 'stop')).toMatchObject({ exitCode: 0 })
    expect(vast.rentedAs(name)).toMatchObject({ isDeleted: true })
  })

  it('is gone after the job that started it was killed', async () => {
    const run = newRun()
    await rentAndLose('loads', run)
    expect(vast.rentedAs(run.name)).toMatchObject({ isDeleted: false })
    expect(await cloud(run.step, 'stop')).toMatchObject({ exitCode: 0 })
    expect(vast.rentedAs(run.name)).toMatchObject({ isDeleted: true })
  })

  it('is asked to go by a start that is cancelled', async () => {
    const { step, name } = newRun()
    const starting = startCloud(step, 'start', ...wish('loads'))
    await starting.waitFor('rented: ')
    starting.kill('SIGINT')
    expect(await starting.ended).toMatchObject({ exitCode: 130 })
    expect(await cloud(step, 'stop')).toMatchObject({ exitCode: 0 })
    expect(vast.rentedAs(name)).toMatchObject({ isDeleted: true })
  })

  it('that its provider does not delete is no success, and is named', async ({ expect }) => {
    const run = newRun()
    await rentAndLose('stays', run)
    const { exitCode, output } = await cloud(run.step, 'stop', '--wait-minutes', '0.5')
    const machine = vast.rentedAs(run.name)
    expect({ exitCode, output }).toMatchObject({ exitCode: 1 })
    expect(output).toContain(`not seen gone: vastai, no-oslo, instance ${machine?.id}`)
    expect(machine?.isDeleted).toBe(false)
    await expect.poll(() => machine?.deleteCalls).toBeGreaterThan(0)
  })

  it('outlives its server, which takes it down after a restart, and not without its back end', async () => {
    const run = newRun(other)
    const starting = startCloud(run.step, 'start', ...wish('works'))
    await starting.waitFor('rented: ')
    await other.kill()
    await other.start()
    expect(await starting.ended).toMatchObject({ exitCode: 0 })

    await other.kill()
    other.configure([])
    await other.start()
    const without = await cloud(run.step, 'stop', '--wait-minutes', '0.1')
    expect(without).toMatchObject({ exitCode: 1, output: expect.stringContaining('config.yml') })
    expect(vast.rentedAs(run.name)).toMatchObject({ deleteCalls: 0 })

    await other.kill()
    other.configure(PROJECTS)
    await other.start()
    expect(await cloud(run.step, 'stop')).toMatchObject({ exitCode: 0 })
    expect(vast.rentedAs(run.name)).toMatchObject({ isDeleted: true })
  })

  it('is swept when it is older than its limit, and not before', async () => {
    const [old, young] = [newRun(server, 'swept'), newRun(server, 'swept')]
    await Promise.all([rentAndLose('loads', old), rentAndLose('loads', young)])
    server.age(old.name, longestMinutes({ maxMinutes: 60 }) + 1)
    expect(await cloudAction(old.step, { command: 'sweep' })).toMatchObject({ exitCode: 0 })
    expect(vast.rentedAs(old.name)).toMatchObject({ isDeleted: true })
    expect(vast.rentedAs(young.name)).toMatchObject({ isDeleted: false })
    expect(await cloud(young.step, 'stop')).toMatchObject({ exitCode: 0 })
  })
})

describe.concurrent('nothing is rented', () => {
  it.each([
    ['without an offer', 'main', ['--gpu', 'B200'], 'no offer'],
    ['above the price', 'main', ['--gpu', 'H100', '--max-price', '1.5'], 'no offer'],
    ['from private persons, unless named', 'open', ['--gpu', 'H100'], 'community_cloud: false'],
    ['without a fleet', 'main', ['--gpu', 'H100', '--fleet', 'unknown'], 'nodes: 0..1'],
    [
      'from a provider that the server does not have',
      'main',
      ['--gpu', 'H100', '--backends', 'vultr'],
      'vultr',
    ],
  ])('%s', async (_, project, words, said) => {
    const { step, name } = newRun(server, project)
    const { exitCode, output } = await cloud(step, 'start', '--max-price', '3', ...words)
    expect(exitCode).not.toBe(0)
    expect(output).toContain(said)
    expect(runners.registered.map((runner) => runner.name)).not.toContain(name)
    expect(vast.rentedAs(name)).toBeUndefined()
  })

  it("for a fork's pull request, whoever has called the workflow", async () => {
    const { step, name } = newRun()
    const { exitCode, output } = await cloud(
      { ...step, event: pullRequestEvent('fork') },
      'start',
      ...wish('works'),
    )
    expect({ exitCode, output }).toMatchObject({ exitCode: 2, output: expect.stringContaining('fork') })
    expect(runners.registered.map((runner) => runner.name)).not.toContain(name)
    expect(vast.rentedAs(name)).toBeUndefined()
  })

  it('by a plan, which tells the price, the bound and the expected cost', async () => {
    const { step } = newRun()
    const words = ['plan', 'configs/experiments/smoke.yaml', '--gpu', 'H100', '--max-price', '3']
    const { exitCode, output } = await cloud(step, ...words, '--max-minutes', '60', '--out', folder)
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 })
    expect(output).toContain('At most $5.10')
    expect(output).toMatch(/vastai +\| no-oslo +\| 1 x H100 80 GB +\| \$2\.02/)
    expect(output).toContain('Expected for ')
    const listed = await server.call('runs/list', { project_name: 'main' })
    expect(JSON.stringify(listed)).not.toContain('speedproof-0-0')
  })
})

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
