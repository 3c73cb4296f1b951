// A run that ends badly is typed, keeps its files and those of the others, and never lets the step go green.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anExperiment, anExperimentByTorchrun } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { processesIn } from '../harness/processes.ts'
import { measure, startServices } from '../harness/speedproof.ts'

const RUNS = ['01-block-1-baseline', '02-block-1-optimized']
const ALL_FILES = ['config.yaml', 'log.txt', 'machine.jsonl', 'trainer', 'trainer/metrics.jsonl']

async function filesOf(folder: string, run: string): Promise<string[]> {
  const names = await readdir(join(folder, 'out', 'runs', run), { recursive: true })
  return names.filter((name) => !name.startsWith('errors')).sort()
}

/** Found in a log that torchrun has its own say in. */
const SAID: Readonly<Record<string, string>> = { crash: 'this trainer was told to crash' }

it('a training that makes the folder of a later run leaves no verdict, and the report says why', async () => {
  const folder = await anExperiment({ baseline: { fault: 'plant-next-folder', fault_step: 5 } })
  await using services = await startServices()
  const { main } = await measure(folder, services)
  expect(main.exitCode).not.toBe(0)
  expect(main.outputs.verdict).toBe('invalid')
  const report = await readFile(join(folder, 'out', 'report.md'), 'utf8')
  expect(report).toContain('02-block-1-optimized is there before its training starts')
})

/** Two faults for the price of one: the baseline's must not keep the optimized run from its own. */
describe('both variants fail, each for its own reason', () => {
  const without = (name: string) => ALL_FILES.filter((file) => file !== name)

  it.each([
    ['crash', 'exit-code', 'sigkill', 'signal', ALL_FILES],
    ['out-of-memory', 'out-of-memory', 'none', null, ALL_FILES],
    ['diverged', 'diverged', 'nan-metrics', 'diverged', ALL_FILES],
    ['truncated-metrics', 'bad-metrics', 'empty-metrics', 'no-metrics', ALL_FILES],
    ['out-of-order-metrics', 'bad-metrics', 'no-metrics', 'no-metrics', without('trainer/metrics.jsonl')],
  ])('%s is %s; %s is %s', async (baseline, baselineReason, optimized, optimizedReason, optimizedFiles) => {
    // How a rank died is torchrun's to tell; the rest says the trainer itself.
    const experimentBy = baseline === 'crash' ? anExperimentByTorchrun : anExperiment
    const folder = await experimentBy({ baseline: { fault: baseline }, optimized: { fault: optimized } })
    await using services = await startServices()
    const { main } = await measure(folder, services)
    expect(main).toMatchObject({ exitCode: 1, outputs: { verdict: 'failed', speedup: '' } })
    const { outcomes } = await readResult(folder)
    expect(outcomes.map(({ reason }) => reason)).toEqual([baselineReason, optimizedReason])
    expect(outcomes[0]?.message).toContain(SAID[baseline] ?? '')
    expect(await Promise.all(RUNS.map((run) => filesOf(folder, run)))).toEqual([ALL_FILES, optimizedFiles])
    const report = await readFile(join(folder, 'out', 'report.md'), 'utf8')
    for (const text of [report, services.github.comments[0]?.body]) expect(text).toContain(baselineReason)
    expect(Object.keys(services.artifacts.uploaded['speedproof-faulty-measure-attempt-1'] ?? {})).toEqual(
      expect.arrayContaining(RUNS.map((run) => `runs/${run}/log.txt`)),
    )
  })
})

it('a warm-up launch that hangs is timed out, gone, and ends the plan', async () => {
  const folder = await anExperiment({
    baseline: { fault: 'ignore-sigterm', fault_step: 15 },
    design: { warm_up_launches: 1 },
  })
  await using services = await startServices()
  const { main, post } = await measure(folder, services, { inputs: { 'timeout-minutes': '0.05' } })
  expect(main).toMatchObject({ exitCode: 1, outputs: { verdict: 'failed' } })
  expect(main.outputs.reason).toMatch(/timed-out .*launch\.timeout_minutes/)
  const { outcomes } = await readResult(folder)
  expect(outcomes.map(({ status }) => status)).toEqual(['failed', 'not-run', 'not-run', 'not-run'])
  expect(await filesOf(folder, '01-warm-up-baseline')).toEqual(
    expect.arrayContaining(['config.yaml', 'log.txt']),
  )
  expect(post?.lines).toEqual([])
  expect(processesIn(folder)).toEqual([])
})
