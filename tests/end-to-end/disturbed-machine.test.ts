// What the machine does to an experiment, with an nvidia-smi that tells what the test wants: real processes all the same.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { listProcesses } from '../../src/io/process/process-table.ts'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFakeSmi, anH200, type FakeSmi } from '../fixtures/machine/fake-smi.ts'
import { PYTHON, ROOT } from '../fixtures/processes/launching.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'

const PATIENCE = { timeout: 150_000, interval: 20 }
const COOL = { gpu: [anH200()] }
const HOT = { gpu: [anH200({ 'clocks_event_reasons.active': '0x0000000000000040' })] }

const BUSY = { ...COOL, 'compute-apps': [{ gpu_uuid: String(anH200().uuid), pid: 4242 }] }

type Keys = Readonly<Record<string, unknown>>

/** On what calls itself an H200. */
async function anExperimentOn(smi: FakeSmi, env: Keys = {}, optimized: Keys = {}): Promise<string> {
  const { PATH = '', NVIDIA_FAKE = '' } = smi.environment
  const device_name = 'NVIDIA H200'
  return anExperiment({
    baseline: { step_seconds: 0.06, device_name },
    optimized: { step_seconds: 0.015, device_name, ...optimized },
    launch: { env: { PATH, NVIDIA_FAKE, ...env } },
  })
}

const begun =
  (folder: string, run: string, out = 'out') =>
  () =>
    existsSync(join(folder, out, 'runs', run, 'machine.jsonl'))

const wrote = (folder: string, run: string, text: string) => () =>
  begun(folder, run)() && readFileSync(join(folder, 'out/runs', run, 'machine.jsonl'), 'utf8').includes(text)

/** From the command line's start on, the launch waits before it trains; the function lets it go on. */
async function held(folder: string, launch: string): Promise<() => Promise<void>> {
  const file = join(folder, `hold-${launch}`)
  await writeFile(file, '')
  return () => rm(file)
}

it('a block in which a GPU is slowed down by heat is repeated, shown, and does not count', async () => {
  const smi = await aFakeSmi(COOL)
  const folder = await anExperimentOn(smi, {}, { fault: 'hold', fault_step: 15 })
  // The hot launch stays in its steady part until heat was seen there, and its repeat waits for a cool GPU.
  const goOn = await held(folder, 'midway')
  const repeat = await held(folder, '01-block-1-baseline-repeat')
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  await vi.waitUntil(wrote(folder, '02-block-1-optimized', '"event":"steps"'), PATIENCE)
  await smi.answer(HOT)
  await vi.waitUntil(wrote(folder, '02-block-1-optimized', '"event_reasons":64'), PATIENCE)
  await goOn()
  await vi.waitUntil(begun(folder, '01-block-1-baseline-repeat'), PATIENCE)
  await smi.answer(COOL)
  await vi.waitUntil(wrote(folder, '01-block-1-baseline-repeat', '"event_reasons":1,'), PATIENCE)
  await repeat()
  const { exitCode, stdout } = await running.ended

  expect(stdout).toContain('block 1, baseline, repeat')
  expect(stdout).toContain(
    'warning: repeats: block 1 was launched again: 02-block-1-optimized: a GPU was slowed down',
  )
  expect(exitCode).toBe(0)
  const { outcomes } = await readResult(folder)
  expect(outcomes.map(({ run }) => run.id)).toEqual([
    '01-block-1-baseline',
    '02-block-1-optimized',
    '01-block-1-baseline-repeat',
    '02-block-1-optimized-repeat',
  ])
  expect(await readFile(join(folder, 'out/report.md'), 'utf8')).toContain('finished; does not count')

  const analyzed = await speedproof(folder, 'analyze', 'out/result.json')
  expect(analyzed.exitCode).toBe(0)
  expect(stdout).toContain(analyzed.stdout.trim())
}, 300_000)

it.each([
  ['GPUs that are busy', BUSY, {}, 'GPU processes: process 4242 on the GPUs of this experiment; end it'],
  [
    'memory errors',
    { gpu: [anH200({ 'remapped_rows.pending': 'Yes' })] },
    {},
    'ECC: pending memory errors on GPU 0; reset the GPU',
  ],
  [
    'no such GPU',
    COOL,
    { CUDA_VISIBLE_DEVICES: '9' },
    'GPUs: 0 visible for 1 processes; lower nproc-per-node',
  ],
])('%s stop an experiment before anything is launched', async (_, machine, env, reason) => {
  const smi = await aFakeSmi(machine)
  const folder = await anExperimentOn(smi, env)
  const ended = await speedproof(folder, 'run', EXPERIMENT_FILE)
  expect(ended.exitCode).toBe(4)
  expect(ended.stdout).toContain(`faulty invalid on this host: ${reason}`)
  expect(existsSync(join(folder, 'out/runs/01-block-1-baseline'))).toBe(false)
  const { outcomes } = await readResult(folder)
  expect(outcomes.map(({ status, reason: why }) => `${status}: ${why}`)).toEqual(
    Array(2).fill('not-run: unfit'),
  )
  expect((await speedproof(folder, 'analyze', 'out/result.json')).exitCode).toBe(4)
})

it('who waits too long for the machine is told for whom, and leaves the folder of the other alone', async () => {
  const folder = await anExperiment({ launch: { lock_minutes: 0.02 } })
  await mkdir(join(folder, 'out'))
  await writeFile(join(folder, 'out/.speedproof'), '')
  await writeFile(join(folder, 'out/result.json'), 'of the other')
  const script = join(ROOT, 'tests', 'fixtures', 'machine', 'hold-lock.ts')
  const holder = spawn(process.execPath, [script, folder, PYTHON, 'cpu'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')

  const ended = await speedproof(folder, 'run', EXPERIMENT_FILE)
  expect(ended.exitCode).toBe(4)
  expect(ended.stdout).toMatch(/waiting up to 1 s \(launch\.lock_minutes\) for process \d+ on /)
  expect(ended.stdout).toMatch(
    /faulty invalid on this host: lock: waited \d+ s for process \d+ on .+; end it, or raise launch\.lock_minutes/,
  )
  expect(await readFile(join(folder, 'out/result.json'), 'utf8')).toBe('of the other')
  expect(ended.stdout).toMatch(/Report: out\/not-run\/.+\/report\.md/)
})

it('a second call in the same folder is refused at once, and the first one is not disturbed', async () => {
  const rungs = [{ name: 'quick', set: { 'speed.step_seconds': 0.002 } }]
  const folder = await anExperiment({ ladder: { rungs } })
  const release = await held(folder, '01-block-1-baseline')
  const first = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  await vi.waitUntil(begun(folder, '01-block-1-baseline'), PATIENCE)
  const out = await realpath(join(folder, 'out'))
  for (const words of [['run'], ['run', '--resume'], ['ladder', '--out', 'out']]) {
    const second = await speedproof(folder, ...words, EXPERIMENT_FILE)
    expect(second.stderr).toMatch(
      new RegExp(`^out: got "${out}", .*another call.* \\(process \\d+ on .+\\)\\. Wait until`, 'm'),
    )
    expect(second.exitCode).toBe(2)
    expect(second.stdout).not.toContain('waiting')
  }
  expect((await speedproof(folder, 'plan', EXPERIMENT_FILE)).exitCode).toBe(0)
  await release()
  const ended = await first.ended
  expect(ended.exitCode).toBe(0)
  expect(existsSync(join(folder, 'out/earlier'))).toBe(false)
  expect((await speedproof(folder, 'run', EXPERIMENT_FILE)).exitCode).toBe(0)
}, 300_000)

it.each(['out/.speedproof.lock', 'speedproof-cpu.lock'])(
  'an experiment whose lock %s is lost is invalid, launches nothing more and is not resumed',
  async (file) => {
    const folder = await anExperiment()
    const release = await held(folder, '01-block-1-baseline')
    const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
    await vi.waitUntil(begun(folder, '01-block-1-baseline'), PATIENCE)
    killHolder(join(folder, file))
    await release()
    const ended = await running.ended
    expect(ended.stdout).toMatch(
      /faulty invalid on this host: lock: lost: the process that held .+\.lock was ended \(SIGKILL\), so that another/,
    )
    expect(ended.exitCode).toBe(4)
    const { outcomes } = await readResult(folder)
    expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'not-run'])
    expect((await speedproof(folder, 'analyze', 'out/result.json')).exitCode).toBe(4)
    const resumed = await speedproof(folder, 'run', '--resume', EXPERIMENT_FILE)
    expect(resumed.exitCode).toBe(2)
    expect(resumed.stderr).toMatch(
      /^--resume: .*result\.json lost its lock \(the process that held .+ without --resume/,
    )
  },
  300_000,
)

it('a ladder whose lock is lost ends, does not count the launch in which it was, and can be resumed', async () => {
  const rungs = [{ name: 'quick', set: { 'speed.step_seconds': 0.002 } }]
  const folder = await anExperiment({ ladder: { rungs } })
  const words = ['ladder', EXPERIMENT_FILE]
  const release = await held(folder, 'sitting-1-001-baseline')
  const running = startSpeedproof(folder, ...words)
  await vi.waitUntil(begun(folder, 'sitting-1-001-baseline', 'out/ladder'), PATIENCE)
  killHolder(join(folder, 'speedproof-cpu.lock'))
  await release()
  const ended = await running.ended
  expect(ended.stderr).toMatch(
    /^lock: lost: the process that held .+ --resume, which keeps what was measured before/,
  )
  expect(ended.exitCode).toBe(4)
  const report = await readFile(join(folder, 'out/ladder/ladder.md'), 'utf8')
  expect(report).toContain('sitting-1-001-baseline: not counted: the lock was lost')
  expect(existsSync(join(folder, 'out/ladder/runs/sitting-1-002-quick'))).toBe(false)
  expect((await speedproof(folder, ...words, '--resume')).exitCode).toBe(0)
}, 300_000)

function killHolder(file: string): void {
  const holder = listProcesses().find(({ pid }) => {
    const words = commandLine(pid)
    return words.some((word) => word.endsWith('lock.py')) && words.includes(file)
  })
  process.kill(holder?.pid ?? Number.NaN, 'SIGKILL')
}

/** Empty for a process that has ended since it was listed. */
function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}
