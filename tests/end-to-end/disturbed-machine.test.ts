// What the machine does to an experiment, with an nvidia-smi that tells what the test wants: real launches all the same.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFakeSmi, anH200, type FakeSmi } from '../fixtures/machine/fake-smi.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'

const PATIENCE = { timeout: 90_000, interval: 20 }
const COOL = { gpu: [anH200()] }
const HOT = { gpu: [anH200({ 'clocks_event_reasons.active': '0x0000000000000040' })] }

/** Launches that are long enough to be sampled in their steady part, on what calls itself an H200. */
async function anExperimentOn(smi: FakeSmi): Promise<string> {
  const { PATH = '', NVIDIA_FAKE = '' } = smi.environment
  const device_name = 'NVIDIA H200'
  return anExperiment({
    baseline: { step_seconds: 0.18, device_name },
    optimized: { step_seconds: 0.05, device_name },
    launch: { env: { PATH, NVIDIA_FAKE } },
  })
}

const begun = (folder: string, run: string) => () =>
  existsSync(join(folder, 'out/runs', run, 'machine.jsonl'))

it('a block in which a GPU is slowed down by heat is repeated, shown, and does not count', async () => {
  const smi = await aFakeSmi(COOL)
  const folder = await anExperimentOn(smi)
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  await vi.waitUntil(begun(folder, '02-block-1-optimized'), PATIENCE)
  await smi.answer(HOT)
  await vi.waitUntil(begun(folder, '01-block-1-baseline-repeat'), PATIENCE)
  await smi.answer(COOL)
  const { exitCode, stdout } = await running.ended

  expect(stdout).toContain('block 1, baseline, repeat')
  expect(stdout).toContain('warning: repeats: does not count: 02-block-1-optimized: a GPU was slowed down')
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
}, 120_000)
