// speedproof try launches each variant once and says all that is wrong.
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { QUICK_PYTHON } from '../fixtures/processes/launching.ts'
import { speedproof } from '../harness/command-line.ts'

const tried = (folder: string) => speedproof(folder, 'try', EXPERIMENT_FILE)

it('a sound experiment has no problem after one short launch of each variant', async () => {
  const folder = await anExperiment({ design: { warm_up_launches: 1, warm_up_set: { steps: 12 } } })
  const { exitCode, stdout } = await tried(folder)
  expect(stdout).toContain('baseline: finished in ')
  expect(stdout).toContain('steps: 12')
  expect(stdout).toContain(`speedproof run ${EXPERIMENT_FILE}`)
  expect(exitCode).toBe(0)
  expect(await readdir(join(folder, 'out', 'try', 'runs'))).toEqual([
    '01-warm-up-baseline',
    '02-warm-up-optimized',
  ])
})

it('problems of both variants are said at once', async () => {
  const folder = await anExperiment({
    baseline: { steps: 12 },
    optimized: { steps: 12, fault: 'truncated-metrics' },
    gates: { nrmse_ratio: { at_most: 1.1, evidence: 'point' } },
  })
  const { exitCode, stdout, stderr } = await tried(folder)
  expect([exitCode, stderr]).toEqual([1, ''])
  expect(stdout).toContain('optimized: failed (bad-metrics): ')
  expect(stdout).toContain('has 12 steps, expected at least 20')
  expect(stdout).toContain('gate nrmse_ratio would stay open')
})

const WITHOUT_EVALUATION = `
import json, sys
start = {"event": "run_start", "schema_version": 1, "seed": 0, "world_size": 3}
steps = {"event": "steps", "first_step": 1, "step_seconds": [0.001] * 12, "samples": [8] * 12}
end = {"event": "run_end", "status": "finished", "samples": 96, "attempted_updates": 12, "skipped_updates": 0, "total_seconds": 1}
with open(sys.argv[1] + "/metrics.jsonl", "w") as file:
    file.writelines(json.dumps(event) + "\\n" for event in (start, steps, end))
`

it('metrics without an evaluation are judged as far as they go', async () => {
  const folder = await anIdleTraining()
  await writeFile(join(folder, 'idle.py'), WITHOUT_EVALUATION)
  const { exitCode, stdout } = await tried(folder)
  expect(exitCode).toBe(1)
  for (const part of ['has no evaluation event', 'on 3 processes', 'has 12 steps', 'no val_loss'])
    expect(stdout).toContain(part)
})

const IDLE = 'print("unable to locate sufficient gpus")\n'

async function anIdleTraining(): Promise<string> {
  const folder = await anExperiment({
    trainer: { script: undefined, arguments: '--{key}={value}', speed_keys: ['fast'] },
    launch: { python: QUICK_PYTHON, command: ['{python}', 'idle.py', '{out}', '{config}', '{arguments}'] },
    design: { warm_up_launches: 1 },
  })
  await writeFile(join(folder, 'idle.py'), IDLE)
  return folder
}

it('a training that ends with 0 without work is quoted, by run too', async () => {
  const folder = await anIdleTraining()
  const { exitCode, stdout } = await tried(folder)
  expect(exitCode).toBe(1)
  expect(stdout.match(/│ unable to locate sufficient gpus/g)).toHaveLength(2)
  await speedproof(folder, 'run', EXPERIMENT_FILE)
  const { outcomes } = await readResult(folder)
  expect(outcomes[0]).toMatchObject({
    reason: 'no-metrics',
    message: expect.stringContaining('ends with: unable to locate sufficient gpus'),
  })
})

it('what plan refuses is refused before a launch', async () => {
  const folder = await anExperiment({ trainer: { script: 'none.py' } })
  const { exitCode, stderr } = await tried(folder)
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('none.py')])
})
