// The workflow files themselves, run by a workflow runner: called workflows, steps, outputs, artifacts, red and green.
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { makePlainCopy } from '../../scripts/plain-copy.ts'
import { TRAINERS } from '../fixtures/experiments/an-experiment.ts'
import { aFolder, ROOT } from '../fixtures/processes/launching.ts'
import { HEAD_SHA, REPOSITORY } from '../harness/events.ts'
import { keepArtifacts, startServices } from '../harness/speedproof.ts'
import { readOwnFile } from '../harness/workflow/files.ts'
import { dispatched, pushed, runOf } from '../harness/workflow/happenings.ts'
import { runInAct } from './act.ts'

const SMOKE = 'configs/experiments/smoke.yaml'
/** The run that the event of the report names. */
const MEASURING_RUN = 1001
const FOREIGN = 'examples/foreign-trainer/experiment.yaml'
const experiment = z.looseObject({
  gates: z.record(z.string(), z.looseObject({})),
})

const measure = readOwnFile('.github/workflows/measure.yml')
const [, checkout] = /uses: (actions\/checkout@\w+)/.exec(measure) ?? []

let copy: string

beforeAll(async () => {
  copy = await aFolder()
  makePlainCopy(ROOT, copy)
  // act takes the name of the repository from here.
  execFileSync('git', ['remote', 'add', 'origin', `https://github.com/${REPOSITORY}`], { cwd: copy })
  const foreign = experiment.parse(parse(await readFile(join(copy, FOREIGN), 'utf8')))
  // Quick, and as information: a machine that is shared proves nothing about speed.
  const design = { blocks: 1, warm_up_launches: 0 }
  const gates = Object.fromEntries(
    Object.entries(foreign.gates).map(([name, gate]) => [name, { ...gate, severity: 'info' }]),
  )
  const smoke = { ...foreign, name: 'smoke', design, gates }
  await writeFile(join(copy, SMOKE), stringify(smoke))
  const crash = {
    ...{ ...smoke, name: 'crash', trainer: { script: join(TRAINERS, 'faulty.py') } },
    variants: {
      baseline: { config: 'crash.yaml' },
      optimized: { config: 'crash.yaml', set: { 'speed.step_seconds': 0.001 } },
    },
  }
  await writeFile(join(copy, 'configs', 'experiments', 'crash.yaml'), stringify(crash))
  // `$/` needs no checkout; the plain path that stands for it here does.
  const report = join(copy, '.github', 'workflows', 'report.yml')
  const step = '      - uses: ./.github/actions/speedproof'
  await writeFile(
    report,
    (await readFile(report, 'utf8')).replace(step, `      - uses: ${checkout}\n${step}`),
  )
  await writeFile(join(copy, 'crash.yaml'), stringify({ fault: 'crash' }))
})

it('the pull request of a fork runs a real training and passes; the report comments and sets the check', async () => {
  await using services = await startServices()
  const { github, artifacts } = services
  const measured = await runInAct(copy, 'performance.yml', pushed('fork'), services)
  expect(measured.log).toContain('Speedproof: smoke passed')
  expect(measured.log).toMatch(/set-output:: verdict=passed/)
  expect(measured.exitCode).toBe(0)
  expect(Object.keys(artifacts.uploaded['speedproof-smoke-measure-attempt-1'] ?? {})).toEqual(
    expect.arrayContaining(['result.json', 'report.md', 'runs/01-block-1-baseline/trainer/metrics.jsonl']),
  )
  expect(github.calls).toEqual([])

  keepArtifacts(services, MEASURING_RUN)
  github.files.main = { [SMOKE]: await readFile(join(copy, SMOKE), 'utf8') }
  const happening = runOf('Performance', 'pull_request')
  const reported = await runInAct(copy, 'performance-report.yml', happening, services)
  expect(reported).toMatchObject({ exitCode: 0, log: expect.stringContaining('Speedproof: smoke passed') })
  expect(github.checks).toMatchObject([
    { name: 'Speedproof: smoke/measure', head_sha: HEAD_SHA, conclusion: 'success' },
  ])
  expect(github.comments).toMatchObject([{ body: expect.stringContaining('Speedproof: smoke passed') }])
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
