import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { examineMachine, lockMachine } from '../../../src/io/machine/take-machine.ts'
import { anExperiment } from '../../fixtures/builders.ts'
import { aFakeSmi, anH200, type FakeMachine } from '../../fixtures/machine/fake-smi.ts'
import { aFolder, notCancelled, PYTHON } from '../../fixtures/processes/launching.ts'

const TWO = [anH200(), anH200({ index: 1 })]

/** An interpreter whose torch sees the fake GPUs; everything but the probe it runs. */
async function aPython(probes: readonly unknown[]): Promise<string> {
  const file = join(await aFolder(), 'python')
  const lines = probes.map((probe) => `echo '${JSON.stringify(probe)}'`).join('; ')
  await writeFile(
    file,
    `#!/bin/sh\ncase "$1" in */probe.py) ${lines || ':'} ;; *) exec ${PYTHON} "$@" ;; esac\n`,
  )
  await chmod(file, 0o755)
  return file
}

const PROBES = TWO.map(({ uuid }) => ({ uuid, productTflops: 700, copyGigabytesPerSecond: 4200 }))

async function take(
  machine: FakeMachine,
  visible: string,
  hooks: Partial<Parameters<typeof lockMachine>[2]> = {},
) {
  const smi = await aFakeSmi(machine)
  const { launch, ...rest } = anExperiment()
  const env = { ...smi.environment, CUDA_VISIBLE_DEVICES: visible }
  const python = await aPython(PROBES.slice(0, visible.split(',').length))
  const experiment = { ...rest, launch: { ...launch, python, env } }
  const defaults = { cancelled: notCancelled(), onWait: () => {} }
  const { cancelled, onWait } = { ...defaults, ...hooks }
  const lock = await lockMachine([experiment], smi.workingDirectory, { cancelled, onWait })
  const examined = await examineMachine(experiment, smi.workingDirectory, () => lock.facts, cancelled)
  return Object.assign(examined, { [Symbol.asyncDispose]: () => lock[Symbol.asyncDispose]() })
}

test('a machine is looked at before the first run, on the GPUs that the runs use', async () => {
  vi.stubEnv('SPEEDPROOF_LOCK_FOLDER', await aFolder())
  const foreign = { gpu_uuid: String(TWO[1]?.uuid), pid: 77 }
  await using machine = await take({ gpu: TWO, 'compute-apps': [foreign] }, '1')
  expect(machine.seen.preflight).toMatchObject({
    processesWanted: 2,
    gpus: { status: 'measured', value: [{ index: 1, name: 'NVIDIA H200' }] },
    processes: { status: 'measured', value: [{ pid: 77 }] },
    probes: { status: 'measured', value: [{ productTflops: 700 }] },
  })
})

test('an experiment on the same GPUs waits, one on others does not', async () => {
  vi.stubEnv('SPEEDPROOF_LOCK_FOLDER', await aFolder())
  await using _first = await take({ gpu: TWO }, '0')
  await using _other = await take({ gpu: TWO }, '1')
  const cancel = new AbortController()
  const told: string[] = []
  const onWait = (message: string) => {
    told.push(message)
    cancel.abort()
  }
  await expect(take({ gpu: TWO }, '0,1', { cancelled: cancel.signal, onWait })).rejects.toThrow('cancelled')
  expect(told).toEqual([
    expect.stringMatching(/^waiting up to 2 h 00 min \(launch.lock_minutes\) for process \d+ on /),
  ])
})

test('without a GPU nothing is measured, and the record of a run says so', async () => {
  vi.stubEnv('SPEEDPROOF_LOCK_FOLDER', await aFolder())
  await using machine = await take({ fails: 'no driver' }, '0')
  const nothing = { status: 'not-measured', reason: 'nvidia-smi ended with exit code 9: no driver' }
  expect(machine.seen.preflight).toMatchObject({ gpus: nothing, processes: nothing, probes: nothing })
  const file = join(await aFolder(), 'machine.jsonl')
  const sampler = await machine.watch(file)
  await sampler.stop()
  await machine.recall('01-warm-up-baseline', file)
  await machine.recall('02-not-watched', `${file}.missing`)
  expect([...machine.seen.records]).toEqual([
    ['01-warm-up-baseline', [expect.objectContaining({ gpus: [], samples: [], energy: [], processes: [] })]],
  ])
})
