import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { readMachineFiles } from '../../../src/io/load/read-run-files.ts'
import { fingerprint, queryGpus } from '../../../src/io/machine/gpus.ts'
import { MARKER_VARIABLE, newMarker } from '../../../src/io/process/sweep.ts'
import { type MachineEvent, machineEvent } from '../../../src/measure/machine-record.ts'
import { aFakeSmi, anH200, type FakeMachine, type FakeSmi } from '../../fixtures/machine/fake-smi.ts'
import { aFolder, PYTHON, ROOT } from '../../fixtures/processes/launching.ts'
import { processesIn } from '../../harness/processes.ts'

const TWO = [anH200({ 'clocks.sm': 1500, 'utilization.gpu': 98 }), anH200({ index: 1 })]
const [UUID_0, UUID_1] = TWO.map(({ uuid }) => String(uuid))
const SCRIPT = join(ROOT, 'src', 'io', 'machine', 'watch_node.py')

interface Watched {
  readonly smi: FakeSmi
  readonly file: string
  readonly marker: string
  readonly locks: string
  /** Ends its standard input, as an agent does, and waits for its end. */
  stop(): Promise<number | null>
  readonly child: ChildProcessByStdio<Writable, null, null>
}

async function aWatcher(
  node: string,
  machine: FakeMachine = { gpu: TWO },
  {
    folder,
    locks,
    environment = {},
  }: { folder?: string; locks?: string; environment?: Record<string, string> } = {},
): Promise<Watched> {
  const smi = await aFakeSmi(machine)
  const name = node === 'n1' ? 'machine.jsonl' : `machine-${node}.jsonl`
  const file = join(folder ?? (await aFolder()), name)
  const lockFolder = locks ?? (await aFolder())
  const marker = newMarker()
  const child = spawn(
    PYTHON,
    ['-I', '-S', SCRIPT, '--out', file, '--marker', marker, '--lock-folder', lockFolder],
    {
      cwd: smi.workingDirectory,
      env: { ...smi.environment, SPEEDPROOF_NODE: node, ...environment },
      stdio: ['pipe', 'ignore', 'inherit'],
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const stop = async () => {
    child.stdin.end()
    const [code] = await ended
    return code
  }
  return { smi, file, marker, locks: lockFolder, stop, child }
}

async function eventsOf(file: string): Promise<MachineEvent[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text.split('\n').slice(0, -1)
  return lines.map((line) => machineEvent.parse(JSON.parse(line)))
}

const count = async (file: string, event: MachineEvent['event']) =>
  (await eventsOf(file)).filter((one) => one.event === event).length

const patience = { timeout: 20_000 }

test('a node is sampled until standard input ends, in the lines that one host has', async () => {
  const { smi, file, stop } = await aWatcher('n2')
  await expect.poll(() => count(file, 'gpu'), patience).toBeGreaterThanOrEqual(4)
  expect(await stop()).toBe(0)
  const events = await eventsOf(file)
  const gpus = await queryGpus(smi)
  const before = gpus.status === 'measured' ? fingerprint(gpus.value) : 'none'
  expect(events[0]).toEqual({
    event: 'start',
    gpus: [UUID_0, UUID_1],
    fingerprint: before,
    node: 'n2',
    host: expect.any(String),
    started_at: expect.any(Number),
    lock: { status: 'held' },
  })
  expect(events.at(-1)).toMatchObject({ event: 'end', fingerprint: before, is_complete: true })
  expect(events.find((event) => event.event === 'gpu')).toEqual({
    event: 'gpu',
    seconds: expect.any(Number),
    gpu: 0,
    sm_clock_mhz: 1500,
    memory_clock_mhz: 3201,
    power_watts: 77.65,
    temperature_celsius: 30,
    memory_used_bytes: 0,
    event_reasons: 1,
    utilization: 0.98,
  })
  expect(processesIn(smi.workingDirectory)).toEqual([])
})

test('SIGTERM ends it as the end of its input does', async () => {
  const { smi, file, child } = await aWatcher('n2')
  await expect.poll(() => count(file, 'gpu'), patience).toBeGreaterThan(0)
  child.kill('SIGTERM')
  await once(child, 'exit')
  expect((await eventsOf(file)).at(-1)).toMatchObject({ event: 'end', is_complete: true })
  expect(processesIn(smi.workingDirectory)).toEqual([])
})

test("processes of the node's own ranks are told from others, and one that stays is named", async () => {
  const { smi, file, marker, stop } = await aWatcher('n2')
  const onGpu = async (environment: Record<string, string>) => {
    const child = spawn('sleep', ['60'], { env: { PATH: process.env.PATH ?? '', ...environment } })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'spawn')
    return child.pid ?? Number.NaN
  }
  const own = await onGpu({ [MARKER_VARIABLE]: marker })
  // The marker of another node of the same launch: that is no process of this one.
  const foreign = await onGpu({ [MARKER_VARIABLE]: `${marker}-n1` })
  const rows = [own, foreign].map((pid) => ({ gpu_uuid: UUID_0 ?? '', pid }))
  await smi.answer({ gpu: TWO, 'compute-apps': rows })
  await expect.poll(() => count(file, 'process'), patience).toBe(2)
  await stop()
  const events = await eventsOf(file)
  const seen = events.flatMap((event) => (event.event === 'process' ? [[event.pid, event.is_ours]] : []))
  expect(seen).toEqual([
    [own, true],
    [foreign, false],
  ])
  expect(events.at(-1)).toMatchObject({ processes_left: [own] })
})

test('only the visible GPUs of the ranks are watched', async () => {
  const { file, stop } = await aWatcher('n2', { gpu: TWO }, { environment: { CUDA_VISIBLE_DEVICES: '1' } })
  await expect.poll(() => count(file, 'gpu'), patience).toBeGreaterThan(0)
  await stop()
  expect((await eventsOf(file))[0]).toMatchObject({ gpus: [UUID_1] })
})

test('a node without GPUs says so', async () => {
  const { file, stop } = await aWatcher('n2', { gpu: [] })
  await expect.poll(() => count(file, 'start'), patience).toBe(1)
  await stop()
  const [start, end] = await eventsOf(file)
  expect(start).toMatchObject({ gpus: [], fingerprint: null })
  expect(end).toMatchObject({ fingerprint: null, processes_left: null, is_complete: true })
})

test('a monitor that ends by itself leaves an incomplete record', async () => {
  const { smi, file, stop } = await aWatcher('n2')
  await expect.poll(() => count(file, 'gpu'), patience).toBeGreaterThan(0)
  await smi.answer({ fails: 'Unable to determine the device handle for GPU0: Unknown Error' })
  const smis = () => processesIn(smi.workingDirectory).length
  // The watcher itself.
  await expect.poll(smis, patience).toBe(1)
  await stop()
  expect((await eventsOf(file)).at(-1)).toMatchObject({ is_complete: false, fingerprint: null })
})

test('two nodes that share a host lock apart, and a second launch on one of them does not get its lock', async () => {
  const locks = await aFolder()
  const started = async (node: string) => {
    const watcher = await aWatcher(node, { gpu: [] }, { locks })
    await expect.poll(() => count(watcher.file, 'start'), patience).toBe(1)
    return watcher
  }
  const [first, second, third] = [await started('n1'), await started('n2'), await started('n1')]
  const lockOf = async ({ file }: Watched) => (await eventsOf(file))[0]
  expect(await lockOf(first)).toMatchObject({ lock: { status: 'held' } })
  expect(await lockOf(second)).toMatchObject({ lock: { status: 'held' } })
  expect(await lockOf(third)).toMatchObject({
    lock: { status: 'missed', reason: expect.stringContaining('cpu-n1') },
  })
  for (const watcher of [first, second, third]) await watcher.stop()
})

test('a launch is read with all of its nodes, the first one first', async () => {
  const folder = await aFolder()
  for (const node of ['n1', 'n2']) {
    const watcher = await aWatcher(node, { gpu: TWO }, { folder })
    await expect.poll(() => count(watcher.file, 'gpu'), patience).toBeGreaterThan(0)
    await watcher.stop()
  }
  const records = await readMachineFiles(join(folder, 'machine.jsonl'), 2)
  expect(records?.map(({ node, gpus }) => [node, gpus.length])).toEqual([
    ['n1', 2],
    ['n2', 2],
  ])
  expect(await readMachineFiles(join(await aFolder(), 'machine.jsonl'), 2)).toBeNull()
})
