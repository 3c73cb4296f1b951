import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { queryGpus } from '../../../src/io/machine/gpus.ts'
import { startSampler } from '../../../src/io/machine/sampler.ts'
import { MARKER_VARIABLE, newMarker } from '../../../src/io/process/sweep.ts'
import { type MachineEvent, machineEvent } from '../../../src/measure/machine-record.ts'
import { metricsEvents } from '../../fixtures/builders.ts'
import { aFakeSmi, anH200, type FakeMachine, type FakeSmi } from '../../fixtures/machine/fake-smi.ts'
import { aFolder, notCancelled, PYTHON } from '../../fixtures/processes/launching.ts'
import { processesIn } from '../../harness/processes.ts'

const TWO = [anH200({ 'clocks.sm': 1500, 'utilization.gpu': 98 }), anH200({ index: 1 })]
const [UUID_0, UUID_1] = TWO.map(({ uuid }) => String(uuid))

async function aSampler(machine: FakeMachine = { gpu: TWO }, cancelled = notCancelled()) {
  const smi = { ...(await aFakeSmi(machine)), cancelled }
  const asked = await queryGpus(smi)
  const file = join(await aFolder(), 'machine.jsonl')
  const gpus = asked.status === 'measured' ? asked.value : []
  const sampler = await startSampler({ gpus, file, python: PYTHON, context: smi })
  onTestFinished(() => sampler.stop())
  return { smi, sampler, file }
}

async function eventsOf(file: string): Promise<MachineEvent[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text.split('\n').slice(0, -1)
  return lines.map((line) => machineEvent.parse(JSON.parse(line)))
}

const count = async (file: string, event: MachineEvent['event']) =>
  (await eventsOf(file)).filter((one) => one.event === event).length

/** A process that computes on the first GPU, as far as the machine tells. */
async function onGpu(smi: FakeSmi, environment: Record<string, string>): Promise<ChildProcess> {
  const child = spawn('sleep', ['60'], { env: { PATH: process.env.PATH ?? '', ...environment } })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  const pid = child.pid ?? Number.NaN
  await smi.answer({ gpu: TWO, 'compute-apps': [{ gpu_uuid: UUID_0 ?? '', pid }] })
  return child
}

test('a run is sampled on each GPU until it is stopped, with the fingerprint before and after', async () => {
  const { sampler, file } = await aSampler()
  await expect.poll(() => count(file, 'gpu'), { timeout: 20_000 }).toBeGreaterThanOrEqual(4)
  await sampler.stop()
  const events = await eventsOf(file)
  const [start, end] = [events[0], events.at(-1)]
  expect(start).toMatchObject({ event: 'start', gpus: [UUID_0, UUID_1] })
  expect(end).toMatchObject({ event: 'end', is_complete: true, processes_left: null })
  expect(end && 'fingerprint' in end && end.fingerprint).toBe(
    start && 'fingerprint' in start && start.fingerprint,
  )
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
})

test('a cancelled run still has its end noted', async () => {
  const cancel = new AbortController()
  const { sampler, file } = await aSampler({ gpu: TWO }, cancel.signal)
  await expect.poll(() => count(file, 'gpu'), { timeout: 20_000 }).toBeGreaterThan(0)
  cancel.abort()
  await sampler.stop()
  expect((await eventsOf(file)).at(-1)).toMatchObject({ event: 'end', is_complete: true })
})

test('nothing of the sampler is left when it is stopped', async () => {
  const { smi, sampler, file } = await aSampler()
  await expect.poll(() => count(file, 'gpu'), { timeout: 20_000 }).toBeGreaterThan(0)
  expect(processesIn(smi.workingDirectory)).not.toEqual([])
  await sampler.stop()
  expect(processesIn(smi.workingDirectory)).toEqual([])
})

test('processes of the run are told from others', async () => {
  const marker = newMarker()
  const { smi, sampler, file } = await aSampler()
  sampler.follow(marker)
  const own = await onGpu(smi, { [MARKER_VARIABLE]: marker })
  await expect.poll(() => count(file, 'process'), { timeout: 20_000 }).toBe(1)
  const foreign = await onGpu(smi, { [MARKER_VARIABLE]: newMarker() })
  await expect.poll(() => count(file, 'process'), { timeout: 20_000 }).toBe(2)
  await sampler.stop()
  const seen = (await eventsOf(file)).flatMap((event) =>
    event.event === 'process' ? { pid: event.pid, isOurs: event.is_ours } : [],
  )
  expect(seen).toEqual([
    { pid: own.pid, isOurs: true },
    { pid: foreign.pid, isOurs: false },
  ])
  expect((await eventsOf(file)).at(-1)).toMatchObject({ processes_left: [] })
})

test('a process of ours that stays on a GPU is named at the end', async () => {
  const marker = newMarker()
  const { smi, sampler, file } = await aSampler()
  sampler.follow(marker)
  const own = await onGpu(smi, { [MARKER_VARIABLE]: marker })
  await expect.poll(() => count(file, 'process'), { timeout: 20_000 }).toBe(1)
  await sampler.stop()
  expect((await eventsOf(file)).at(-1)).toMatchObject({ processes_left: [own.pid] })
})

test('a sampler that ends by itself leaves an incomplete record', async () => {
  const { smi, sampler, file } = await aSampler()
  await expect.poll(() => count(file, 'gpu'), { timeout: 20_000 }).toBeGreaterThan(0)
  await smi.answer({ fails: 'Unable to determine the device handle for GPU0: Unknown Error' })
  await expect.poll(() => processesIn(smi.workingDirectory), { timeout: 20_000 }).toEqual([])
  await sampler.stop()
  expect((await eventsOf(file)).at(-1)).toMatchObject({ is_complete: false, fingerprint: null })
})

test('the steps of the run are noted on the same clock', async () => {
  const { sampler, file } = await aSampler({ gpu: [] })
  for (const event of metricsEvents()) {
    sampler.event(event)
    sampler.tick()
  }
  await sampler.stop()
  const steps = (await eventsOf(file)).flatMap((event) => (event.event === 'steps' ? event.last_step : []))
  expect(steps).toEqual([20, 40])
})

test('on a machine without GPUs nothing is started, and the record says so', async () => {
  const { smi, sampler, file } = await aSampler({ gpu: [] })
  expect(processesIn(smi.workingDirectory)).toEqual([])
  await sampler.stop()
  expect(await eventsOf(file)).toEqual([
    { event: 'start', gpus: [], fingerprint: null, started_at: expect.any(Number) },
    { event: 'end', seconds: expect.any(Number), fingerprint: null, processes_left: null, is_complete: true },
  ])
})
