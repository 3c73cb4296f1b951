// The reason of a failed launch is what a person would find in the log: which rank, and why it was the first.
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import {
  anExperiment,
  anExperimentByTorchrun,
  EXPERIMENT_FILE,
} from '../fixtures/experiments/an-experiment.ts'
import { ROOT } from '../fixtures/processes/launching.ts'
import { speedproof } from '../harness/command-line.ts'

const EARLY_TIMER = join(ROOT, 'tests', 'fixtures', 'processes', 'early-timer.js')

async function reasonIn(folder: string): Promise<string | undefined> {
  const { stdout } = await speedproof(folder, 'try', EXPERIMENT_FILE)
  return stdout.split('\n').find((line) => line.startsWith('baseline: failed'))
}

const ofRank1 = (fault: string) =>
  anExperimentByTorchrun({
    baseline: { fault, fault_rank: 1, fault_step: 15, loses_peer: true },
    launch: { nproc_per_node: 2 },
  })

it('a rank that SIGKILL ends is the reason, not the rank that then loses its connection', async () => {
  const reason = await reasonIn(await ofRank1('sigkill'))
  expect(reason).toMatch(/failed \(signal\): rank 1(, after reported step 10)?: ended by SIGKILL/)
  expect(reason).not.toContain('Connection')
})

it('the text of a sys.exit is the reason, with its rank', async () => {
  const reason = await reasonIn(await ofRank1('exit-text'))
  expect(reason).toMatch(/failed \(exit-code\): .*rank 1\b.*held-out file is missing/)
  expect(reason).not.toContain('Connection')
})

it('a training that is done, but whose process does not end, is told so', async () => {
  const folder = await anExperiment({ baseline: { fault: 'no-exit' } })
  vi.stubEnv('NODE_OPTIONS', `--import ${EARLY_TIMER}`)
  vi.stubEnv('EARLY_AFTER', join(folder, 'training-is-done'))
  const reason = await reasonIn(folder)
  vi.unstubAllEnvs()
  expect(reason).toMatch(/failed \(no-exit\): training finished .* did not exit/)
  expect(reason).not.toContain('timeout_minutes')
})
