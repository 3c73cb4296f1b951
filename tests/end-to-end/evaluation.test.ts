// After the runs one process evaluates the final checkpoints again: agreement is shown, anything else is no pass.
import { existsSync } from 'node:fs'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { speedproof, startSpeedproof } from '../harness/command-line.ts'
import { processesIn } from '../harness/processes.ts'

const anEvaluatedExperiment = (evaluation_fault: string) =>
  anExperiment({ trainer: { evaluate_command: 'evaluate' }, optimized: { evaluation_fault } })

async function evaluationIn(folder: string) {
  const { verdict } = await readResult(folder)
  return verdict.checks.find(({ name }) => name === 'evaluation')?.status
}

it('that agrees lets the verdict stand, also when it is analyzed from files alone', async () => {
  const folder = await anEvaluatedExperiment('none')
  const run = await speedproof(folder, 'run', EXPERIMENT_FILE)
  expect(run).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(
      'evaluation: passed, one process evaluated 2 checkpoints again and found val_loss',
    ),
  })
  expect((await speedproof(folder, 'analyze', 'out/result.json')).exitCode).toBe(0)
  const log = await readFile(join(folder, 'out', 'evaluation', 'log.txt'), 'utf8')
  expect(log).toContain('02-block-1-optimized on GPUs 0\n') // those of the runs, which have one process each

  await rm(join(folder, 'out', 'evaluation', 'evaluations.jsonl'))
  expect(await speedproof(folder, 'analyze', 'out/result.json')).toMatchObject({
    exitCode: 3,
    stdout: expect.stringContaining('2 of 2 runs are missing'),
  })
})

it('that disagrees makes the verdict invalid', async () => {
  const folder = await anEvaluatedExperiment('other-number')
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE)).toMatchObject({
    exitCode: 4,
    stdout: expect.stringContaining(
      '02-block-1-optimized: the training reported val_loss 0.020000, but the evaluation found 0.020500',
    ),
  })
  expect(await evaluationIn(folder)).toBe('failed')
})

it.each([
  ['crashes', 'crash', 'RuntimeError: this trainer was told to crash'],
  ['leaves a run out', 'left-out', 'the process left them out'],
])('that %s leaves the verdict open, and says why', async (_, fault, reason) => {
  const folder = await anEvaluatedExperiment(fault)
  expect(await speedproof(folder, 'run', EXPERIMENT_FILE)).toMatchObject({
    exitCode: 3,
    stdout: expect.stringContaining(reason),
  })
  expect(await evaluationIn(folder)).toBe('inconclusive')
  const written = await readFile(join(folder, 'out', 'evaluation', 'evaluations.jsonl'), 'utf8')
  expect(written).toContain('01-block-1-baseline')
})

it('that is cancelled or comes to its limit loses no run, and can be made again by itself', async () => {
  const folder = await anEvaluatedExperiment('held')
  const hold = join(folder, 'hold-evaluation')
  await writeFile(hold, '')
  const running = startSpeedproof(folder, 'run', EXPERIMENT_FILE)
  const log = join(folder, 'out', 'evaluation', 'log.txt')
  const isHeld = async () => existsSync(log) && (await readFile(log, 'utf8')).includes('02-block-1-optimized')
  await vi.waitUntil(isHeld, { timeout: 60_000, interval: 20 })
  running.pressCtrlC()
  expect(await running.ended).toMatchObject({ exitCode: 130 })
  expect(processesIn(folder)).toEqual([])
  const { outcomes } = await readResult(folder)
  expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'finished'])
  expect(await evaluationIn(folder)).toBe('inconclusive')
  expect((await speedproof(folder, 'analyze', 'out/result.json')).exitCode).toBe(3)

  const run = join(folder, 'out/runs/02-block-1-optimized/trainer/metrics.jsonl')
  const before = await stat(run)
  const again = (minutes: string) =>
    speedproof(folder, 'run', EXPERIMENT_FILE, '--resume', '--timeout-minutes', minutes)
  expect(await again('0.05')).toMatchObject({
    exitCode: 3,
    stdout: expect.stringContaining('still running at its limit of 3'),
  })
  await rm(hold)
  expect(await again('5')).toMatchObject({ exitCode: 0 })
  expect(await evaluationIn(folder)).toBe('passed')
  expect((await stat(run)).mtimeMs).toBe(before.mtimeMs)
})
