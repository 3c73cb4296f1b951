// A launcher that is not torchrun is supervised, cancelled and timed like it; a stand-in plays `deepspeed`.
import { readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { beforeEach, expect, it, vi } from 'vitest'
import { anExperiment, EXPERIMENT_FILE, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { ROOT } from '../fixtures/processes/launching.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'
import { processesIn } from '../harness/processes.ts'

const LAUNCHERS = join(ROOT, 'tests', 'fixtures', 'stand-ins', 'launchers')
const COMMAND = [
  ...['deepspeed', '--num_gpus', '{nproc}', '--no_local_rank', join(TRAINERS, 'faulty.py')],
  ...['--config', '{config}', '--out', '{out}', '--seed', '{seed}'],
]

type Keys = Readonly<Record<string, unknown>>

const byDeepspeed = (optimized: Keys = {}, launch: Keys = {}, design: Keys = {}) =>
  anExperiment({
    trainer: { script: undefined },
    launch: { command: COMMAND, nproc_per_node: 2, ...launch },
    optimized,
    design,
  })

beforeEach(() => {
  vi.stubEnv('PATH', [LAUNCHERS, process.env.PATH].join(delimiter))
  return () => vi.unstubAllEnvs()
})

it('its ranks are measured', async () => {
  const folder = await byDeepspeed()
  expect((await speedproof(folder, 'plan', EXPERIMENT_FILE)).stdout).toContain('deepspeed --num_gpus 2 ')
  const { exitCode } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  const { outcomes, verdict } = await readResult(folder)
  expect(outcomes.map(({ status, message }) => message ?? status)).toEqual(['finished', 'finished'])
  expect([verdict.verdict, exitCode]).toEqual(['passed', 0])
  const metrics = join(folder, 'out/runs/01-block-1-baseline/trainer/metrics.jsonl')
  expect(await readFile(metrics, 'utf8')).toContain('"world_size": 2')
})

it('a rank that fails ends the launch with its own reason, not with the lines of the launcher', async () => {
  const folder = await byDeepspeed({ fault: 'crash', fault_rank: 1, fault_step: 5 })
  await speedproof(folder, 'run', EXPERIMENT_FILE)
  const { outcomes } = await readResult(folder)
  expect(outcomes[1]).toMatchObject({
    status: 'failed',
    reason: 'exit-code',
    message: expect.stringContaining('this trainer was told to crash'),
  })
  expect(processesIn(folder)).toEqual([])
})

it('ranks that stay after their training are ended at the time limit, and gone', async () => {
  const folder = await byDeepspeed({ fault: 'ignore-sigterm', fault_rank: 1 })
  await speedproof(folder, 'run', EXPERIMENT_FILE, '--timeout-minutes', '0.1')
  const { outcomes } = await readResult(folder)
  expect(outcomes[1]).toMatchObject({ status: 'failed', reason: 'no-exit' })
  expect(processesIn(folder)).toEqual([])
})

it('a cancel ends its ranks too, also one that ignores SIGTERM', async () => {
  const folder = await byDeepspeed({ fault: 'ignore-sigterm', fault_rank: 1 })
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  const log = join(folder, 'out/runs/02-block-1-optimized/log.txt')
  await vi.waitUntil(async () => (await readFile(log, 'utf8').catch(() => '')).includes('ignores SIGTERM'), {
    timeout: 150_000,
    interval: 20,
  })
  running.pressCtrlC()
  expect((await running.ended).exitCode).toBe(130)
  expect((await readResult(folder)).outcomes.map(({ status }) => status)).toEqual(['finished', 'cancelled'])
  expect(processesIn(folder)).toEqual([])
})

it('fewer ranks than {nproc} end the experiment after its warm-up launches', async () => {
  const folder = await byDeepspeed({}, { env: { FAKE_GPUS: '1' } }, { warm_up_launches: 1 })
  const { stdout } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  const { outcomes } = await readResult(folder)
  expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'finished', 'not-run', 'not-run'])
  expect(stdout).toMatch(/invalid on this host: .*equal work: .*on 1 processes.* 2/)
})
