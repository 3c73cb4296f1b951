// Somebody changes the data while it is being measured on, or between two halves of an experiment.
import { existsSync } from 'node:fs'
import { appendFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import {
  anExperiment,
  EXPERIMENT_FILE,
  type ExperimentChanges,
} from '../fixtures/experiments/an-experiment.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'

const PATIENCE = { timeout: 60_000, interval: 20 }

async function withData(changes: ExperimentChanges = {}): Promise<string> {
  const folder = await anExperiment({ data: ['data.bin'], ...changes })
  await writeFile(join(folder, 'data.bin'), 'samples')
  return folder
}

/** The launch of this name waits until the file of this name is gone. */
async function heldAt(folder: string, run: string) {
  await writeFile(join(folder, `hold-${run}`), '')
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  await vi.waitUntil(() => existsSync(join(folder, `out/runs/${run}/log.txt`)), PATIENCE)
  return running
}

it('passes where it stays as it is, also when they are analyzed', async () => {
  const folder = await withData()
  const { exitCode, stdout, stderr } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  expect(exitCode, stderr).toBe(0)
  expect(stdout).toContain('same data: passed')
  expect(await speedproof(folder, 'analyze', 'out/result.json')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('same data: passed'),
  })
})

it('makes the runs invalid, in the report and when they are analyzed', async () => {
  const folder = await withData()
  const running = await heldAt(folder, '02-block-1-optimized')
  await appendFile(join(folder, 'data.bin'), ' and more')
  await rm(join(folder, 'hold-02-block-1-optimized'))
  const { exitCode, stdout } = await running.ended
  expect(exitCode).toBe(4)
  expect(stdout).toMatch(/faulty invalid on this host: same data: .*\(data\.bin\)/)
  expect(await speedproof(folder, 'analyze', 'out/result.json')).toMatchObject({ exitCode: 4 })
})

it('is not resumed with other data', async () => {
  const folder = await withData({ design: { blocks: 2 } })
  const running = await heldAt(folder, '04-block-2-baseline')
  running.pressCtrlC()
  expect((await running.ended).exitCode).toBe(130)
  await rm(join(folder, 'hold-04-block-2-baseline'))
  await appendFile(join(folder, 'data.bin'), ' and more')
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('the files under data: have changed'),
  })
  await writeFile(join(folder, 'data.bin'), 'samples')
  expect((await speedproof(folder, 'run', EXPERIMENT_FILE, '--resume')).exitCode).toBe(0)
})

it('is refused before the first launch where it is not there', async () => {
  const folder = await withData({ data: ['data.bin', 'elsewhere.bin'] })
  expect(await speedproof(folder, 'plan', EXPERIMENT_FILE)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('data: got "elsewhere.bin"'),
  })
})
