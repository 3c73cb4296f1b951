// The agent of a node, without Slurm: what it starts, what it says, and by what it ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { aFolder, FAMILY, PYTHON, ROOT } from '../../fixtures/processes/launching.ts'
import { processesIn } from '../../harness/processes.ts'

const AGENT = join(ROOT, 'src', 'io', 'engine', 'slurm', 'agent.py')
const MARKER = 'speedproof-00000000-0000-0000-0000-000000000000'
const PATIENCE = { timeout: 60_000, interval: 50 }

interface Agent {
  readonly folder: string
  readonly child: ChildProcess
  readonly said: () => Promise<string[]>
  readonly renew: (order: string) => Promise<void>
}

async function anAgent(
  command: readonly string[],
  { node = 'n1', leaseSeconds = 60, folder }: { node?: string; leaseSeconds?: number; folder?: string } = {},
): Promise<Agent> {
  const place = folder ?? (await aFolder())
  await mkdir(join(place, 'agents'), { recursive: true })
  const lease = join(place, 'lease')
  let count = 0
  const renew = async (order: string) => {
    count += 1
    await writeFile(lease, `${count} ${order}\n`)
  }
  await renew(MARKER)
  const options = {
    folder: join(place, 'agents'),
    lease,
    'lease-seconds': String(leaseSeconds),
    marker: MARKER,
    nodes: 'n1,n2',
    address: '127.0.0.1',
    machine: join(place, 'machine.jsonl'),
    processes: '1',
    keep: 'PATH,KEPT',
  }
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const child = spawn(PYTHON, ['-I', '-S', AGENT, 'launch', ...words, '--', ...command], {
    cwd: place,
    env: {
      PATH: process.env.PATH,
      KEPT: 'kept',
      SECRET: 'x',
      SLURMD_NODENAME: node,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = async () =>
    (await readFile(join(place, 'agents', node), 'utf8').catch(() => '')).trim().split('\n')
  return { folder: place, child, said, renew }
}

async function endOf({ child }: Agent): Promise<number | null> {
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode]
  return code
}

async function until(agent: Agent, line: string): Promise<void> {
  await vi.waitUntil(async () => (await agent.said()).includes(line), PATIENCE)
}

const WAITS = ['sh', '-c', 'trap "" TERM; (setsid sleep 300 &) ; sleep 300']

describe('an agent', () => {
  test('passes on the exit code, and is clean with nothing left of a daemon', async () => {
    const agent = await anAgent(['sh', '-c', '(setsid sleep 300 &); exit 3'])
    expect(await endOf(agent)).toBe(3)
    expect(await agent.said()).toEqual(['starting', 'ended', 'exit 3', 'clean'])
    expect(processesIn(agent.folder)).toEqual([])
  })

  test('shows its command the allowed variables alone', async () => {
    const agent = await anAgent(['sh', '-c', 'env > seen'])
    await endOf(agent)
    const seen = await readFile(join(agent.folder, 'seen'), 'utf8')
    expect(seen).toMatch(/^KEPT=kept$/m)
    expect(seen).not.toMatch(/^(SECRET|SLURM)/m)
  })

  test('says why a command cannot be started', async () => {
    const agent = await anAgent([join('/nowhere', 'python')])
    await endOf(agent)
    const said = await agent.said()
    expect(said).toContainEqual(expect.stringMatching(/^failed No such file/))
    expect(said.at(-1)).toBe('clean')
  })

  test.each<[string, (agent: Agent) => unknown]>([
    ['lease', () => {}],
    ['order', ({ renew }) => renew('-')],
    ['order', ({ renew }) => renew('over')],
    ['SIGTERM', ({ child }) => child.kill('SIGTERM')],
  ])('ends ranks that ignore it by %s', async (reason, end) => {
    const agent = await anAgent(WAITS, { leaseSeconds: reason === 'lease' ? 2 : 60 })
    await until(agent, 'starting')
    await end(agent)
    await endOf(agent)
    expect(await agent.said()).toContain(`stopping ${reason}`)
    expect((await agent.said()).at(-1)).toBe('clean')
    expect(processesIn(agent.folder)).toEqual([])
  })

  test('is clean too when its reaper was killed', async () => {
    const agent = await anAgent(['sh', '-c', 'sleep 300 & kill -9 $PPID; wait'])
    await endOf(agent)
    expect((await agent.said()).at(-1)).toBe('clean')
    expect(processesIn(agent.folder)).toEqual([])
  })

  test('of another node meets at the port that the first has found', async () => {
    const command = ['sh', '-c', 'echo "$0 $1" > rank-$0', '{node_rank}', '{rdzv_endpoint}']
    const second = await anAgent(command, { node: 'n2' })
    const first = await anAgent(command, { folder: second.folder })
    expect(await Promise.all([endOf(first), endOf(second)])).toEqual([0, 0])
    const [port] = (await first.said()).flatMap((line) => /^port (\d+)$/.exec(line)?.[1] ?? [])
    for (const rank of ['0', '1'])
      expect(await readFile(join(first.folder, `rank-${rank}`), 'utf8')).toBe(`${rank} 127.0.0.1:${port}\n`)
  })

  test('of another node stops waiting for a first one that never comes', async () => {
    const agent = await anAgent(['true', '{rdzv_endpoint}'], { node: 'n2' })
    await until(agent, 'starting')
    await agent.renew('-')
    await endOf(agent)
    expect(await agent.said()).toEqual(['starting', 'stopping order', 'ended', 'clean'])
  })
})

test('what a dead agent has left is found by its marker and ended', async () => {
  const folder = await aFolder()
  const child = spawn(PYTHON, [FAMILY, 'ignore-sigterm'], {
    cwd: folder,
    env: { PATH: process.env.PATH, SPEEDPROOF_RUN_MARKER: `${MARKER.replace('-0', '-1')}-n1` },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await once(child.stdout, 'data')
  const left = spawn(PYTHON, ['-I', '-S', AGENT, 'left', MARKER.replace('-0', '-1')], {
    env: { ...process.env, SLURMD_NODENAME: 'n1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const chunks: Buffer[] = []
  left.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(left, 'close')
  expect(Buffer.concat(chunks).toString()).toMatch(/^found [1-9]\d* left 0\nspeedproof-answer 0\n$/)
  expect(processesIn(folder)).toEqual([])
})
