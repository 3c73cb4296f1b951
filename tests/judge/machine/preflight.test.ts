import { expect, test } from 'vitest'
import { gatesOf } from '../../../src/config/experiment.ts'
import { checkLock, checkPreflight, lackOfGpus } from '../../../src/judge/machine/preflight.ts'
import type { GpuProbe, Preflight } from '../../../src/measure/machine-record.ts'
import { anExperiment } from '../../fixtures/builders.ts'
import { aGpu, aPreflight, measured } from '../../fixtures/machine/records.ts'

const stateOf = (name: string, difference: Partial<Preflight>) =>
  checkPreflight(aPreflight(difference)).find((check) => check.name === name)

const twoGpus = (difference: Parameters<typeof aGpu>[0]) =>
  measured([aGpu(), aGpu({ index: 1, ...difference })])

const probes = (...tflops: number[]): GpuProbe[] =>
  tflops.map((productTflops, index) => ({
    uuid: `GPU-${index}`,
    productTflops,
    copyGigabytesPerSecond: 4200,
  }))

test('a machine whose GPUs are alike, idle and healthy passes every check', () => {
  expect(checkPreflight(aPreflight()).map(({ name, status }) => `${name}: ${status}`)).toEqual([
    'GPUs: passed',
    'GPU processes: passed',
    'GPU memory: passed',
    'ECC: passed',
    'GPU probe: passed',
  ])
})

test('nothing passes on a machine without GPUs', () => {
  const nothing = { status: 'not-measured', reason: 'nvidia-smi cannot be started' } as const
  const checks = checkPreflight(aPreflight({ gpus: nothing, processes: nothing, probes: nothing }))
  expect(new Set(checks.map(({ status }) => status))).toEqual(new Set(['not-measured']))
  expect(checks[0]?.detail).toBe('nvidia-smi cannot be started')
})

test.each([{ name: 'NVIDIA H100 80GB HBM3' }, { driver: '570.1' }, { migMode: 'Enabled' }])(
  'GPUs fail when one of them is %o',
  (difference) => {
    expect(stateOf('GPUs', { gpus: twoGpus(difference) })?.status).toBe('failed')
  },
)

test('GPUs fail when there are fewer than processes', () => {
  expect(stateOf('GPUs', { processesWanted: 4 })).toEqual({
    name: 'GPUs',
    status: 'failed',
    detail:
      "2 visible for 4 processes; lower nproc-per-node, or set CUDA_VISIBLE_DEVICES to '' for a training on the CPU",
  })
})

test('a process of somebody else fails', () => {
  expect(stateOf('GPU processes', { processes: measured([{ gpuUuid: 'GPU-1', pid: 77 }]) })).toMatchObject({
    status: 'failed',
    detail: expect.stringContaining('process 77'),
  })
})

test('memory in use fails beyond what an idle driver takes', () => {
  const using = (memoryUsedBytes: number | null) =>
    stateOf('GPU memory', { gpus: twoGpus({ memoryUsedBytes, memoryTotalBytes: 100e9 }) })?.status
  expect(using(4e9)).toBe('passed')
  expect(using(6e9)).toBe('failed')
  expect(using(null)).toBe('not-measured')
  const sizeless = twoGpus({ memoryUsedBytes: 4e9, memoryTotalBytes: null })
  expect(stateOf('GPU memory', { gpus: sizeless })?.status).toBe('not-measured')
})

test('pending memory errors fail, unknown ones were not measured', () => {
  const pending = (hasPendingEccErrors: boolean | null) =>
    stateOf('ECC', { gpus: twoGpus({ hasPendingEccErrors }) })?.status
  expect(pending(true)).toBe('failed')
  expect(pending(null)).toBe('not-measured')
})

test.each([
  [[700, 700, 700], 'passed'],
  [[700, 680], 'passed'],
  [[700, 670], 'warned'],
  [[700, 640], 'warned'],
  [[700, 630], 'failed'],
  [[700, 0], 'failed'],
  [[700], 'passed'],
])('probes of %j TFLOP/s: %s', (tflops, status) => {
  expect(stateOf('GPU probe', { probes: measured(probes(...tflops)) })?.status).toBe(status)
})

test('slow copies alone are seen', () => {
  const slowCopy = probes(700, 700).map((probe, index) => ({
    ...probe,
    copyGigabytesPerSecond: 4200 - 1000 * index,
  }))
  expect(stateOf('GPU probe', { probes: measured(slowCopy) })?.status).toBe('failed')
})

test('GPUs that are named, but not there, fail alone: there is nothing else to look at', () => {
  expect(checkPreflight(aPreflight({ gpus: measured([]) }))).toEqual([
    {
      name: 'GPUs',
      status: 'failed',
      detail:
        "0 visible for 2 processes; lower nproc-per-node, or set CUDA_VISIBLE_DEVICES to '' for a training on the CPU",
    },
  ])
})

test('a lock passes when it is held, and fails when the waiting ends or its holder does', () => {
  const { gpus } = aPreflight()
  expect(checkLock({ status: 'held', waitedSeconds: 0.1, waitedFor: null }, gpus)).toMatchObject({
    status: 'passed',
    detail: 'no other experiment here',
  })
  expect(checkLock({ status: 'held', waitedSeconds: 200, waitedFor: 'process 7' }, gpus).detail).toBe(
    'no other experiment here, waited 3 min 20 s for process 7',
  )
  const tooLong = { status: 'timed-out', waitedSeconds: 7200, waitedFor: 'process 7' } as const
  expect(checkLock(tooLong, gpus)).toEqual({
    name: 'lock',
    status: 'failed',
    detail:
      'waited 2 h 00 min for process 7; end it, choose other GPUs with CUDA_VISIBLE_DEVICES, or raise launch.lock_minutes',
  })
  const reason = 'the process that held it was ended (SIGKILL)'
  expect(checkLock({ status: 'lost', waitedSeconds: 0, waitedFor: null, reason }, gpus)).toEqual({
    name: 'lock',
    status: 'failed',
    detail: `lost: ${reason}, so that another experiment may have run at the same time; find out what did this, and run again`,
  })
  for (const none of [measured([]), { status: 'not-measured', reason: 'no nvidia-smi' } as const])
    expect(checkLock(tooLong, none).detail).toBe(
      'waited 2 h 00 min for process 7; end it, or raise launch.lock_minutes',
    )
})

const unseen = aPreflight({ gpus: { status: 'not-measured', reason: 'nvidia-smi cannot be started' } })
const limit = { below: 50, severity: 'required', evidence: 'interval' } as const

test('without a GPU a required gate on its memory is named before anything is launched', () => {
  const { gates } = anExperiment()
  const experiment = anExperiment({ gates: { ...gates, peak_memory_gb: limit } })
  expect(lackOfGpus(gatesOf(experiment), unseen)).toMatch(
    /^no GPU .*\(nvidia-smi cannot be started\).* peak_memory_gb cannot be measured$/,
  )
})

test.each([
  ['a machine with GPUs', { gates: { peak_memory_gb: limit } }, aPreflight()],
  ['a machine that was not looked at', { gates: { peak_memory_gb: limit } }, null],
  ['gates that a CPU can meet', {}, unseen],
  ['a gate that only warns', { gates: { peak_memory_gb: { ...limit, severity: 'warn' } } }, unseen],
] as const)('nothing lacks with %s', (_, difference, preflight) => {
  expect(lackOfGpus(gatesOf(anExperiment(difference)), preflight)).toBeNull()
})
