// A command line that is interrupted or killed leaves no process, and what it has measured can be analyzed.
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import {
  anExperiment,
  anExperimentByTorchrun,
  EXPERIMENT_FILE,
  TRAINERS,
} from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'
import { processesIn } from '../harness/processes.ts'

const PATIENCE = { timeout: 30_000, interval: 50 }

async function waitForLog(folder: string, run: string, text: string): Promise<void> {
  const path = join(folder, 'out', 'runs', run, 'log.txt')
  await vi.waitUntil(async () => (await readFile(path, 'utf8').catch(() => '')).includes(text), PATIENCE)
}

it('Ctrl-C in a run ends even workers that ignore it, with 130 and a result', async () => {
  const folder = await anExperimentByTorchrun({ baseline: { fault: 'ignore-sigterm', fault_step: 15 } })
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  await waitForLog(folder, '01-block-1-baseline', 'ignores SIGTERM')
  running.pressCtrlC()
  expect(await running.ended).toMatchObject({ exitCode: 130 })
  expect(processesIn(folder)).toEqual([])
  const { outcomes, verdict } = await readResult(folder)
  expect(outcomes.map(({ status }) => status)).toEqual(['cancelled', 'not-run'])
  expect(verdict).toMatchObject({ verdict: 'inconclusive' })
})

it('Ctrl-C during set-up ends what set-up has started, with 130', async () => {
  const trainer = { script: join(TRAINERS, 'slow_validation.py'), validate_command: 'validate-config' }
  const folder = await anExperiment({ trainer })
  const running = startSpeedproof(folder, 'plan', EXPERIMENT_FILE)
  await vi.waitUntil(() => existsSync(join(folder, 'validating')), PATIENCE)
  running.pressCtrlC()
  expect(await running.ended).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('cancelled') })
  expect(processesIn(folder)).toEqual([])
})

it('a lost connection ends a run as a cancel does, with 130 and a result', async () => {
  const folder = await anExperiment({ baseline: { fault: 'ignore-sigterm', fault_step: 15 } })
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  await waitForLog(folder, '01-block-1-baseline', 'ignores SIGTERM')
  running.hangUp()
  expect(await running.ended).toMatchObject({ exitCode: 130, signal: null })
  expect(processesIn(folder)).toEqual([])
  const { verdict } = await readResult(folder)
  expect(verdict).toMatchObject({ verdict: 'inconclusive' })
})

it('a run goes on to its verdict after nobody reads its output any more', async () => {
  const folder = await anExperiment()
  await writeFile(join(folder, 'hold-01-block-1-baseline'), '')
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  await running.waitForOutput('block 1')
  running.stopReading()
  await rm(join(folder, 'hold-01-block-1-baseline'))
  expect(await running.ended).toMatchObject({ exitCode: 0 })
  expect((await readResult(folder)).verdict).toMatchObject({ verdict: 'passed' })
})

it('SIGKILL in the second run leaves a whole result of the first and no process', async () => {
  const folder = await anExperiment({ optimized: { fault: 'ignore-sigterm', fault_step: 15 } })
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  await waitForLog(folder, '02-block-1-optimized', 'ignores SIGTERM')
  running.kill()
  expect(await running.ended).toMatchObject({ signal: 'SIGKILL' })
  expect((await readResult(folder)).outcomes.map(({ status }) => status)).toEqual(['finished', 'not-run'])
  const analyzed = await speedproof(folder, 'analyze', 'out/result.json')
  expect(analyzed.exitCode).toBe(3)
  expect(analyzed.stdout).toContain(
    'faulty inconclusive on this host: stopped early: 1 of 2 launches finished',
  )
  await expect.poll(() => processesIn(folder), PATIENCE).toEqual([])
})
