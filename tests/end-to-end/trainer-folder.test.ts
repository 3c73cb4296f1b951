// A trainer has a folder of its own, so that no name that it chooses for a file is one of Speedproof's files.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { anExperiment, EXPERIMENT_FILE, TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { speedproof } from '../harness/command-line.ts'

it('a trainer that writes config.yaml, log.txt and machine.jsonl into --out harms nothing', async () => {
  const folder = await anExperiment({ trainer: { script: join(TRAINERS, 'overwriting.py') } })
  const { exitCode } = await speedproof(folder, 'run', EXPERIMENT_FILE)
  const { verdict, outcomes } = await readResult(folder)
  expect([verdict.verdict, exitCode]).toEqual(['passed', 0])
  expect(outcomes).toHaveLength(2)

  const run = join(folder, 'out', 'runs', '01-block-1-baseline')
  const ours = (name: string) => readFile(join(run, name), 'utf8')
  expect(JSON.parse(await ours('config.yaml'))).toMatchObject({ steps: 20, speed: { step_seconds: 0.004 } })
  expect(await ours('log.txt')).toContain('run_end')
  expect(await ours('machine.jsonl')).toMatch(/^\{"event":"start"/)
  expect(await readdir(join(run, 'trainer'))).toEqual(
    expect.arrayContaining(['config.yaml', 'log.txt', 'machine.jsonl', 'metrics.jsonl', 'result.json']),
  )
  expect((await speedproof(folder, 'analyze', 'out/result.json')).exitCode).toBe(0)
})
