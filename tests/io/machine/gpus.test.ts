import { expect, test } from 'vitest'
import { fingerprint, queryGpus, queryProcesses } from '../../../src/io/machine/gpus.ts'
import { aFakeSmi, anH200, type FakeMachine, without } from '../../fixtures/machine/fake-smi.ts'
import { aFolder, notCancelled } from '../../fixtures/processes/launching.ts'

const gpusOf = async (machine: FakeMachine) => await queryGpus(await aFakeSmi(machine))

const firstGpu = async (gpu: ReturnType<typeof anH200>) => {
  const asked = await gpusOf({ gpu: [gpu] })
  return asked.status === 'measured' ? asked.value[0] : asked
}

test('what an H200 answers becomes facts with units', async () => {
  expect(await firstGpu(anH200({ 'memory.used': 1011 }))).toEqual({
    index: 0,
    uuid: 'GPU-ffb84ab7-55dd-b3ca-78e1-000000000000',
    name: 'NVIDIA H200',
    driver: '580.159.04',
    vbios: '96.00.A5.00.1A',
    memoryTotalBytes: 143771 * 2 ** 20,
    memoryUsedBytes: 1011 * 2 ** 20,
    hasPendingEccErrors: false,
    eccMode: 'Enabled',
    persistenceMode: 'Enabled',
    migMode: 'Disabled',
    powerLimitWatts: 700,
    maxSmClockMhz: 1980,
  })
})

test.each(['[N/A]', '[Not Supported]', '[Unknown Error]', 'N/A', ''])(
  'a driver that says "%s" has told nothing',
  async (nothing) => {
    expect(await firstGpu(anH200({ 'power.limit': nothing, 'ecc.mode.current': nothing }))).toMatchObject({
      powerLimitWatts: null,
      eccMode: null,
    })
  },
)

test('an old driver that does not know some fields still tells the others', async () => {
  const old = without(anH200(), 'remapped_rows.pending', 'mig.mode.current')
  expect(await firstGpu({ ...old, 'retired_pages.pending': 'Yes' })).toMatchObject({
    name: 'NVIDIA H200',
    migMode: null,
    hasPendingEccErrors: true,
  })
})

test('pending memory errors are unknown when neither field tells them', async () => {
  expect(await firstGpu(anH200({ 'remapped_rows.pending': '[N/A]' }))).toMatchObject({
    hasPendingEccErrors: null,
  })
})

test('a machine whose driver does not answer has GPUs that were not measured', async () => {
  expect(
    await gpusOf({ fails: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." }),
  ).toEqual({
    status: 'not-measured',
    reason:
      "nvidia-smi ended with exit code 9: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
  })
  expect(await gpusOf({ gpu: [] })).toMatchObject({
    reason: expect.stringContaining('No devices were found'),
  })
})

test('a machine without nvidia-smi has GPUs that were not measured', async () => {
  const folder = await aFolder()
  const context = { environment: { PATH: folder }, workingDirectory: folder, cancelled: notCancelled() }
  expect(await queryGpus(context)).toMatchObject({
    status: 'not-measured',
    reason: expect.stringContaining('nvidia-smi cannot be started'),
  })
})

test('the compute processes are told with their GPU, and none is an answer too', async () => {
  const smi = await aFakeSmi({ gpu: [anH200()], 'compute-apps': [{ gpu_uuid: 'GPU-a', pid: 484 }] })
  expect(await queryProcesses(smi)).toEqual({ status: 'measured', value: [{ gpuUuid: 'GPU-a', pid: 484 }] })
  await smi.answer({ gpu: [anH200()] })
  expect(await queryProcesses(smi)).toEqual({ status: 'measured', value: [] })
})

test('the fingerprint changes with the power limit and not with the memory in use', async () => {
  const prints = async (difference: Parameters<typeof anH200>[0]) => {
    const asked = await gpusOf({ gpu: [anH200(difference)] })
    return asked.status === 'measured' ? fingerprint(asked.value) : asked
  }
  expect(await prints({ 'memory.used': 5 })).toBe(await prints({}))
  expect(await prints({ 'power.limit': '600.00' })).not.toBe(await prints({}))
})

test.each([
  [14, 'WARNING: infoROM is corrupted at gpu 0000:3B:00.0'],
  [15, 'Unable to determine the device handle for GPU1: 0000:5E:00.0: GPU is lost'],
  [255, ''],
])('rows of a program that ends with %i are used, and its end is a warning', async (code, says) => {
  const gpu = anH200()
  const machine = await aFakeSmi({
    gpu: [gpu],
    'compute-apps': [{ gpu_uuid: String(gpu.uuid), pid: 77 }],
    ends: { code, says },
  })
  const warning = `nvidia-smi answered and ended with exit code ${code}${says === '' ? '' : `: ${says}`}`
  expect(await queryGpus(machine)).toMatchObject({ status: 'measured', value: [{ index: 0 }], warning })
  expect(await queryProcesses(machine)).toMatchObject({ status: 'measured', value: [{ pid: 77 }], warning })
})

test('no process and a corrupt inforom are no process; any other end without rows is no answer', async () => {
  const ended = async (code: number) =>
    await queryProcesses(await aFakeSmi({ gpu: [anH200()], ends: { code, says: 'warning' } }))
  expect(await ended(14)).toMatchObject({ status: 'measured', value: [] })
  expect(await ended(15)).toMatchObject({ status: 'not-measured' })
})
