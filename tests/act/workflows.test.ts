// The workflow files themselves, run by a workflow runner: called workflows, steps, outputs, artifacts, red and green.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { makePlainCopy } from '../../scripts/plain-copy.ts'
import { TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { aFolder, ROOT } from '../fixtures/processes/launching.ts'
import { startServices } from '../harness/speedproof.ts'
import { dispatched, pushed } from '../harness/workflow/happenings.ts'
import { runInAct } from './act.ts'

const FOREIGN = 'examples/foreign-trainer/experiment.yaml'
const experiment = z.looseObject({
  gates: z.record(z.string(), z.looseObject({})),
})

let copy: string

beforeAll(async () => {
  copy = await aFolder()
  makePlainCopy(ROOT, copy)
  const foreign = experiment.parse(parse(await readFile(join(copy, FOREIGN), 'utf8')))
  // Quick, and as information: a machine that is shared proves nothing about speed.
  const design = { blocks: 1, warm_up_launches: 0 }
  const gates = Object.fromEntries(
    Object.entries(foreign.gates).map(([name, gate]) => [name, { ...gate, severity: 'info' }]),
  )
  const smoke = { ...foreign, name: 'smoke', design, gates }
  await writeFile(join(copy, 'configs', 'experiments', 'smoke.yaml'), stringify(smoke))
  const crash = {
    ...{ ...smoke, name: 'crash', trainer: { script: join(TRAINERS, 'faulty.py') } },
    variants: { baseline: { config: 'crash.yaml' }, optimized: { config: 'crash.yaml' } },
  }
  await writeFile(join(copy, 'configs', 'experiments', 'crash.yaml'), stringify(crash))
  await writeFile(join(copy, 'crash.yaml'), stringify({ fault: 'crash' }))
})

it('a pull request runs a real training, passes, and leaves the artifact', async () => {
  await using services = await startServices()
  const { exitCode, log } = await runInAct(copy, 'performance.yml', pushed('fork'), services)
  expect(log).toContain('Speedproof: smoke passed')
  expect(log).toMatch(/set-output:: verdict=passed/)
  expect(exitCode).toBe(0)
  const artifact = services.artifacts.uploaded['speedproof-smoke-measure-attempt-1'] ?? {}
  expect(Object.keys(artifact)).toEqual(
    expect.arrayContaining(['result.json', 'report.md', 'runs/01-block-1-baseline/metrics.jsonl']),
  )
  expect(services.github.calls).toEqual([])
})

it('a benchmark whose trainer crashes is red, with the crash in its log and in the artifact', async () => {
  await using services = await startServices()
  const form = {
    experiment: 'configs/experiments/crash.yaml',
    runner: '"ubuntu-latest"',
    preset: 'experiment',
  }
  const { exitCode, log } = await runInAct(copy, 'benchmark.yml', dispatched(form), services)
  expect(log).toContain('told to crash')
  expect(log).toMatch(/set-output:: verdict=failed/)
  expect(exitCode).toBe(1)
  expect(services.artifacts.uploaded['speedproof-crash-measure-attempt-1']).toHaveProperty('result.json')
})
