import { spawn } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { examine } from '../../../src/io/machine/doctor.ts'
import { hostNameFinding } from '../../../src/io/machine/host.ts'
import { lockFolder, lockHost } from '../../../src/io/machine/lock.ts'
import type { DoctorFinding } from '../../../src/judge/machine/doctor.ts'
import { aRepository } from '../../fixtures/experiments/a-repository.ts'
import { aFakeSmi, anH200, type FakeMachine } from '../../fixtures/machine/fake-smi.ts'
import { aFolder, notCancelled, PYTHON, ROOT } from '../../fixtures/processes/launching.ts'

async function findingsOf(
  python: string,
  machine: FakeMachine,
  processes = 1,
  env: Record<string, string> = {},
): Promise<DoctorFinding[]> {
  const { environment } = await aFakeSmi(machine)
  const folder = await aFolder()
  const experiment = {
    name: 'trial',
    kind: 'same-work',
    trainer: { script: 'train.py' },
    launch: { python, nproc_per_node: processes, env: { ...environment, ...env } },
    variants: { baseline: { config: 'a.yaml' }, optimized: { config: 'b.yaml' } },
  }
  await writeFile(join(folder, 'experiment.yaml'), JSON.stringify(experiment))
  return await examine({
    experimentFile: 'experiment.yaml',
    workingDirectory: folder,
    outDirectory: join(folder, 'not', 'yet'),
    overrides: {},
    cancelled: notCancelled(),
  })
}

const stateOf = (findings: readonly DoctorFinding[], subject: string) =>
  findings.find((finding) => finding.subject === subject)?.status

/** An interpreter that answers the doctor as given; everything else it runs. */
async function aPython(answer: string): Promise<string> {
  const file = join(await aFolder(), 'python')
  const script = `case "$1" in */doctor.py) ${answer} ;; *) exec ${PYTHON} "$@" ;; esac`
  await writeFile(file, `#!/bin/sh\n${script}\n`)
  await chmod(file, 0o755)
  return file
}

const answering = (facts: unknown) => aPython(`echo '${JSON.stringify(facts)}'`)
const TORCH = { version: '2.15.0', hasTorchrun: true, cuda: '13.2', gpus: 2 }

test('a machine without GPUs has what a trial needs', async () => {
  const findings = await findingsOf(PYTHON, { fails: 'no driver' })
  expect(stateOf(findings, 'Python')).toBe('ready')
  expect(stateOf(findings, 'torch')).toBe('ready')
  expect(findings).toContainEqual({
    subject: 'GPUs',
    status: 'advice',
    detail: 'none: nvidia-smi ended with exit code 9: no driver',
    remedy: expect.stringMatching(/CPU.* gates on .*need a GPU/),
  })
  expect(stateOf(findings, 'disk')).toBe('ready')
})

test('two idle GPUs that torch sees are ready', async () => {
  const python = await answering({ python: '3.12.3', torch: TORCH })
  const findings = await findingsOf(python, { gpu: [anH200(), anH200({ index: 1 })] }, 2)
  const states = ['torch', 'GPUs', 'GPU processes', 'GPU memory', 'ECC'].map((subject) =>
    stateOf(findings, subject),
  )
  expect(new Set(states)).toEqual(new Set(['ready']))
})

test.each([
  { python: '3.9.18', torch: TORCH, subject: 'Python' },
  { python: '3.12.3', torch: null, subject: 'torch' },
  { python: '3.12.3', torch: { ...TORCH, hasTorchrun: false }, subject: 'torch' },
  { python: '3.12.3', torch: { ...TORCH, cuda: null, gpus: 0 }, subject: 'torch' },
])('an interpreter that is $python with $torch lacks something: $subject', async ({ subject, ...facts }) => {
  const findings = await findingsOf(await answering(facts), { gpu: [anH200()] })
  expect(findings.find((finding) => finding.subject === subject)).toMatchObject({
    status: 'missing',
    remedy: expect.stringMatching(/./),
  })
})

test('an interpreter that is not there or breaks is named', async () => {
  const findings = await findingsOf('no-such-python', {})
  expect(stateOf(findings, 'Python')).toBe('missing')
  const broken = await findingsOf(await aPython('echo "libpython is gone" >&2; exit 3'), {})
  expect(broken[0]?.detail).toMatch(/ended with exit code 3: libpython is gone$/)
  const old = await findingsOf(await answering({ python: '3.9.18', torch: TORCH }), {})
  // A program of the interpreter takes the lock, which is not to blame.
  for (const ofPython of [findings, broken, old])
    expect(ofPython.map(({ subject }) => subject)).not.toContain('lock')
})

test('a GPU that somebody else uses, or too few of them, is missing', async () => {
  const python = await answering({ python: '3.12.3', torch: TORCH })
  const gpu = anH200({ persistence_mode: 'Disabled' })
  const findings = await findingsOf(
    python,
    { gpu: [gpu], 'compute-apps': [{ gpu_uuid: String(gpu.uuid), pid: 77 }] },
    2,
  )
  expect(stateOf(findings, 'GPUs')).toBe('missing')
  expect(stateOf(findings, 'GPU processes')).toBe('missing')
  expect(stateOf(findings, 'persistence')).toBe('advice')
})

test('a lock that an experiment holds is said, and nothing to mend', async () => {
  const gpu = anH200({ uuid: 'GPU-of-the-test-of-the-doctor' })
  await using _held = await lockHost({
    names: [String(gpu.uuid)],
    folder: lockFolder(process.env),
    python: PYTHON,
    limitMinutes: 1,
    cancelled: notCancelled(),
    onWait: () => {},
  })
  const python = await answering({ python: '3.12.3', torch: TORCH })
  const findings = await findingsOf(python, { gpu: [gpu] })
  expect(findings.find(({ subject }) => subject === 'lock')).toMatchObject({
    status: 'advice',
    detail: expect.stringMatching(/^held by process \d+/),
  })
})

test.each([
  ['torchrun gets an address from us', true, 'advice'],
  ['another launcher looks the name up', false, 'missing'],
])('a host whose own name has no address is named: %s', async (_, isShortForm, status) => {
  expect(await hostNameFinding(isShortForm, 'no-such-host.invalid')).toMatchObject({
    subject: 'host name',
    status,
    detail: expect.stringMatching(/no-such-host\.invalid, has no address/),
    remedy: expect.stringContaining('/etc/hosts'),
  })
  expect(await hostNameFinding(isShortForm, 'localhost')).toMatchObject({ status: 'ready' })
})

test('an nvidia-smi that ends with 14 after its answer is a warning, not a machine without GPUs', async () => {
  const python = await answering({ python: '3.12.3', torch: { ...TORCH, gpus: 1 } })
  const ends = { code: 14, says: 'WARNING: infoROM is corrupted' }
  const findings = await findingsOf(python, { gpu: [anH200()], ends })
  expect(findings.find(({ subject }) => subject === 'GPUs')).toMatchObject({
    status: 'advice',
    detail: expect.stringContaining('exit code 14: WARNING: infoROM is corrupted'),
  })
})

test.each([
  [{}, 'missing'],
  [{ HDF5_USE_FILE_LOCKING: 'FALSE' }, undefined],
])('data on a file system without locks is named, unless HDF5 takes none: %j', async (env, status) => {
  const unlocked = { data: 'No locks available' }
  const python = await answering({ python: '3.12.3', torch: TORCH, unlocked })
  const findings = await findingsOf(python, { fails: 'no driver' }, 1, env)
  expect(stateOf(findings, 'data')).toBe(status)
})

test("the interpreter's own answer tells which data cannot be locked", async () => {
  const folder = await aFolder()
  await mkdir(join(folder, 'data', 'below'), { recursive: true })
  await writeFile(join(folder, 'data', 'below', 'a.h5'), '')
  // What no file system here does: fcntl as it is where there are no locks.
  const script = join(ROOT, 'src', 'io', 'machine', 'doctor.py')
  const asked = `import errno, fcntl, runpy, sys
def flock(*_): raise OSError(errno.ENOLCK, 'none')
if sys.argv.pop(1) == 'without': fcntl.flock = flock
sys.argv = sys.argv[1:]
sys.modules['torch'] = None
runpy.run_path(sys.argv[0], run_name='__main__')`
  const answer = async (locks: string) => {
    const words = ['-c', asked, locks, script, 'data', 'not-there']
    const child = spawn(PYTHON, words, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    return JSON.parse(await text(child.stdout)).unlocked
  }
  expect(await answer('with')).toEqual({})
  expect(await answer('without')).toEqual({ data: 'No locks available' })
})

test('a checkout that git does not read is named', async () => {
  const folder = await aRepository()
  const visit = { experimentFile: null, workingDirectory: folder, outDirectory: join(folder, 'out') }
  const ask = async () =>
    await examine({ ...visit, overrides: { python: PYTHON }, cancelled: notCancelled() })
  expect(stateOf(await ask(), 'git')).toBe('ready')
  await writeFile(join(folder, '.git', 'config'), '[core')
  expect((await ask()).find(({ subject }) => subject === 'git')).toMatchObject({
    status: 'missing',
    detail: expect.stringContaining('bad config'),
  })
})
