// The example trainer, which shares no code with Speedproof, is driven by its experiment file as it stands.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFolder, ROOT } from '../fixtures/processes/launching.ts'
import { speedproof } from '../harness/command-line.ts'

const EXPERIMENT = 'examples/foreign-trainer/experiment.yaml'

it('a foreign trainer completes equal work and its gates are measured', async () => {
  const folder = await aFolder()
  const flags = ['--blocks', '1', '--out', join(folder, 'out')]
  const { exitCode, stdout } = await speedproof(ROOT, 'run', EXPERIMENT, ...flags)
  const { verdict, outcomes } = await readResult(folder)
  expect(outcomes.map(({ status }) => status)).toEqual(['finished', 'finished', 'finished', 'finished'])
  expect(verdict.checks.map(({ name, state }) => `${name} ${state}`)).toEqual([
    'completion passed',
    'equal work passed',
    'same machine passed',
    'steady state passed',
    'clocks passed',
    'evaluation not measured',
    'noise floor not measured',
  ])
  expect(verdict.gates.map(({ gate }) => gate.name)).toEqual(['speedup', 'loss_delta', 'val_loss_ratio'])
  expect(verdict.gates.map(({ state }) => state)).not.toContain('not measured')
  // One block gives no interval, however fast it was.
  expect({ exitCode, verdict: verdict.verdict }).toEqual({ exitCode: 3, verdict: 'inconclusive' })
  expect(stdout).toContain('foreign-trainer inconclusive: ')
}, 180_000)
