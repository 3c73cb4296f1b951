// Somebody edits the trainer while it is being measured.
import { appendFile, copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { anExperiment, EXPERIMENT_FILE, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'

it('makes the runs invalid, in the report and when they are analyzed', async () => {
  const folder = await anExperiment({ trainer: { script: 'train.py' } })
  await copyFile(join(TRAINERS, 'faulty.py'), join(folder, 'train.py'))
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  await running.waitForOutput('[2/2]')
  await appendFile(join(folder, 'train.py'), '# a better idea\n')
  const { exitCode, stdout } = await running.ended
  expect(exitCode).toBe(4)
  expect(stdout).toMatch(
    /faulty invalid: same code: the trainer's sources changed between .* and .*\(train\.py, SHA/,
  )
  expect(await speedproof(folder, 'analyze', 'out/result.json')).toMatchObject({ exitCode: 4 })
})
