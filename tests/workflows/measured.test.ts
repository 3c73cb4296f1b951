// The called workflow measures for real, steps and all: what becomes of the job, its outputs, comment and artifact.
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  anExperiment,
  CRASHES_AT_ONCE,
  type ExperimentChanges,
} from '../fixtures/experiments/an-experiment.ts'
import { GROUP_SHA, HEAD_SHA } from '../harness/events.ts'
import { processesIn } from '../harness/processes.ts'
import { type Services, startMeasuring, startServices } from '../harness/speedproof.ts'
import { dispatched, labeled, pushed, queued, runOf, scheduled } from '../harness/workflow/happenings.ts'
import { type Machine, onMachine } from '../harness/workflow/run-steps.ts'
import { type Happening, runWorkflow } from '../harness/workflow/run-workflow.ts'

const EXPERIMENT = 'configs/experiments/my-change.yaml'
const BENCHMARK = 'examples/workflows/benchmark.yml'

const gates = (atLeast: number) => ({
  speedup: { at_least: atLeast, evidence: 'point' },
  loss_delta: { below: 0.001, evidence: 'point' },
})

/** A workspace in which the experiment lies where the examples have theirs. */
async function aCheckout(changes: ExperimentChanges = {}): Promise<string> {
  const folder = await anExperiment(changes)
  await mkdir(dirname(join(folder, EXPERIMENT)), { recursive: true })
  await rename(join(folder, 'experiment.yaml'), join(folder, EXPERIMENT))
  await writeFile(join(folder, 'requirements.txt'), '')
  return folder
}

async function run(
  path: string,
  happening: Happening,
  workspace: string,
  services: Services,
  act?: Machine['act'],
) {
  const machine: Machine = { workspace, services, happening, ran: [], ...(act ? { act } : {}) }
  const ended = await runWorkflow(path, happening, onMachine(machine))
  if (ended.status !== 'ran') throw new Error(`${path} was not triggered`)
  return { jobs: ended.jobs, ran: machine.ran }
}

it('matrix.yml writes a comment, a check and an artifact for each leg', async () => {
  await using services = await startServices()
  const workspace = await aCheckout()
  const second = join(workspace, 'configs/experiments/long-sequences.yaml')
  await copyFile(join(workspace, EXPERIMENT), second)
  const text = await readFile(second, 'utf8')
  services.github.files.main = { [EXPERIMENT]: text, [relative(workspace, second)]: text }
  const { jobs } = await run('examples/workflows/matrix.yml', pushed(), workspace, services)
  expect(jobs.map(({ result }) => result)).toEqual(Array(4).fill('success'))
  expect(services.github.checks).toMatchObject([{ conclusion: 'success' }, { conclusion: 'success' }])
  expect(services.github.comments).toHaveLength(2)
  expect(Object.keys(services.artifacts.uploaded).sort()).toEqual([
    'speedproof-faulty-measure-long-sequences-attempt-1',
    'speedproof-faulty-measure-long-sequences-attempt-1.html',
    'speedproof-faulty-measure-my-change-attempt-1',
    'speedproof-faulty-measure-my-change-attempt-1.html',
  ])
})

it('nightly.yml is red when a training fails', async () => {
  await using services = await startServices()
  const workspace = await aCheckout(CRASHES_AT_ONCE)
  const { jobs } = await run('examples/workflows/nightly.yml', scheduled(), workspace, services)
  expect(jobs).toMatchObject([{ result: 'failure', outputs: { verdict: 'failed' } }])
})

describe('benchmark.yml', () => {
  it.each([
    ['failed', 'a gate of the form that is missed', {}, { 'min-speedup': '5' }, 1, 'speedup failed'],
    ['failed', 'a trainer that crashes', CRASHES_AT_ONCE, {}, 1, 'told to crash'],
    [
      'invalid',
      'runs that did other work',
      { optimized: { samples_per_step: 8 }, gates: gates(3) },
      {},
      1,
      'equal work',
    ],
    // Run again: an artifact's name cannot be taken twice in a run.
    [
      'inconclusive',
      'a number that nobody measured',
      { gates: { peak_memory_gb: { below: 50 } } },
      {},
      2,
      'not every run',
    ],
  ])(
    'is red and %s by %s, with its result in the outputs and the artifact',
    async (verdict, _, changes, form, runAttempt, reason) => {
      await using services = await startServices()
      const happening = { ...dispatched(form), runAttempt }
      const { jobs, ran } = await run(BENCHMARK, happening, await aCheckout(changes), services)
      const outputs = { verdict, reason: expect.stringContaining(reason) }
      expect(jobs).toMatchObject([{ result: 'failure', outputs }])
      expect(ran[0]?.main.summary).toContain(verdict)
      const artifact = services.artifacts.uploaded[`speedproof-faulty-measure-attempt-${runAttempt}`]
      expect(artifact).toHaveProperty('result.json')
    },
  )

  it('that is cancelled ends its training and keeps what was measured', async () => {
    const hanging = { optimized: { fault: 'ignore-sigterm', fault_step: 15 } }
    await using services = await startServices()
    const workspace = await aCheckout(hanging)
    const cancelled = async (...[folder, , options]: Parameters<NonNullable<Machine['act']>>) => {
      await using action = await startMeasuring(folder, services, options)
      await action.waitForLog('ignores SIGTERM')
      return await action.cancel()
    }
    const { jobs } = await run(BENCHMARK, dispatched(), workspace, services, cancelled)
    expect(jobs).toMatchObject([{ result: 'cancelled', outputs: { verdict: 'inconclusive' } }])
    expect(processesIn(workspace)).toEqual([])
    expect(services.artifacts.uploaded['speedproof-faulty-measure-attempt-1']).toHaveProperty('result.json')
  })
})

describe('a report', () => {
  const CHECK = 'Speedproof: faulty/measure'

  it('follows the measurement of a labeled fork in gpu-on-label.yml, with comment and check', async () => {
    await using services = await startServices()
    const workspace = await aCheckout({ gates: gates(3) })
    services.github.files.main = { [EXPERIMENT]: await readFile(join(workspace, EXPERIMENT), 'utf8') }
    const { jobs } = await run('examples/workflows/gpu-on-label.yml', labeled('gpu'), workspace, services)
    expect(jobs.map(({ result }) => result)).toEqual(['success', 'success'])
    expect(services.github.checks).toMatchObject([{ name: CHECK, head_sha: HEAD_SHA, conclusion: 'success' }])
    expect(services.github.comments).toMatchObject([{ body: expect.stringContaining('faulty passed') }])
  })

  it('of pull-request.yml judges by the gates of the base branch, whatever the fork has made of them', async () => {
    await using services = await startServices()
    const workspace = await aCheckout({ gates: gates(1.5) })
    const ofBase = await aCheckout({ gates: gates(9) })
    services.github.files.main = { [EXPERIMENT]: await readFile(join(ofBase, EXPERIMENT), 'utf8') }
    const reportOn = (action: 'requested' | 'completed') =>
      run(
        'examples/workflows/pull-request-report.yml',
        runOf('Performance', 'pull_request', action),
        workspace,
        services,
      )

    await reportOn('requested')
    expect(services.github.checks).toMatchObject([{ name: CHECK, status: 'in_progress' }])
    const before = services.github.calls.length
    const { jobs } = await run('examples/workflows/pull-request.yml', pushed('fork'), workspace, services)
    expect(jobs).toMatchObject([{ result: 'success', outputs: { verdict: 'passed' } }])
    expect(services.github.calls).toHaveLength(before)
    await reportOn('completed')
    expect(services.github.checks).toMatchObject([
      { name: CHECK, status: 'completed', conclusion: 'failure' },
    ])
    expect(services.github.comments).toMatchObject([{ body: expect.stringContaining('faulty failed') }])
  })

  it('of a merge group stands on its head, where the queue waits for the required check', async () => {
    await using services = await startServices()
    const workspace = await aCheckout({ gates: gates(3) })
    services.github.files.main = { [EXPERIMENT]: await readFile(join(workspace, EXPERIMENT), 'utf8') }
    const { jobs } = await run('examples/workflows/pull-request.yml', queued(), workspace, services)
    expect(jobs).toMatchObject([{ result: 'success', permissions: { contents: 'read' } }])
    const reported = runOf('Performance', 'merge_group')
    await run('examples/workflows/pull-request-report.yml', reported, workspace, services)
    expect(services.github.checks).toMatchObject([
      { name: CHECK, head_sha: GROUP_SHA, status: 'completed', conclusion: 'success' },
    ])
    expect(services.github.comments).toEqual([])
  })
})
