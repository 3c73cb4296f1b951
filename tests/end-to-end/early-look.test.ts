// An experiment ends after two blocks where the speedup is far below its limit, from the command line.
import { afterEach, expect, it, vi } from 'vitest'
import { anExperiment, EXPERIMENT_FILE } from '../fixtures/experiments/an-experiment.ts'
import { speedproof } from '../harness/command-line.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

it('is planned, fails after two of its blocks, and is analyzed to the same', async () => {
  // Reported step seconds are drawn from the seed, so that no two blocks take the same.
  const folder = await anExperiment({
    baseline: { step_noise: 0.01 },
    optimized: { step_seconds: 0.0032, step_noise: 0.01 },
    design: { blocks: [2, 4] },
    gates: { speedup: { at_least: 3.0 } },
  })
  const plan = await speedproof(folder, 'plan', EXPERIMENT_FILE)
  expect(plan.stdout).toMatch(/\| 2 +\| cannot +\| 97\.8% +\|/)
  expect(plan.stdout).toMatch(/clear failure +\| 1\.00x +\| [45]\.\d/)

  const ran = await speedproof(folder, 'run', EXPERIMENT_FILE)
  expect(ran.exitCode).toBe(1)
  expect(ran.stdout).toContain(
    '4 of 4 launches finished; 4 more were not needed, because the verdict was decided',
  )
  expect(ran.stdout).toMatch(/Looks: 1 of 2 were taken, the last after 2 blocks.*it cannot pass/)
  const again = await speedproof(folder, 'analyze', 'out/result.json')
  expect(again.exitCode).toBe(1)
  expect(again.stdout).toContain('faulty failed on this host: speedup failed')
}, 300_000)

it('records in which attempt of a workflow run it was measured', async () => {
  const folder = await anExperiment()
  vi.stubEnv('ATTEMPT_OF_TEST', '3')
  expect((await speedproof(folder, 'run', EXPERIMENT_FILE)).stdout).toContain(
    'faulty passed on this host, in attempt 3 of its workflow run: ',
  )
  vi.unstubAllEnvs()
  expect((await speedproof(folder, 'analyze', 'out/result.json')).stdout).toContain('in attempt 3')
}, 300_000)
