// Somebody edits the trainer while it is being measured.
import { existsSync } from 'node:fs'
import { appendFile, copyFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { anExperiment, EXPERIMENT_FILE, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'

it('makes the runs invalid, in the report and when they are analyzed', async () => {
  const folder = await anExperiment({ trainer: { script: 'train.py' } })
  await copyFile(join(TRAINERS, 'faulty.py'), join(folder, 'train.py'))
  await writeFile(join(folder, 'hold-02-block-1-optimized'), '')
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  const log = join(folder, 'out/runs/02-block-1-optimized/log.txt')
  await vi.waitUntil(() => existsSync(log), { timeout: 60_000, interval: 20 })
  await appendFile(join(folder, 'train.py'), '# a better idea\n')
  await rm(join(folder, 'hold-02-block-1-optimized'))
  const { exitCode, stdout } = await running.ended
  expect(exitCode).toBe(4)
  expect(stdout).toMatch(
    /faulty invalid on this host: same code: the trainer's sources changed between .* and .*\(train\.py, SHA/,
  )
  expect(await speedproof(folder, 'analyze', 'out/result.json')).toMatchObject({ exitCode: 4 })
})
