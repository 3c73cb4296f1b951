// The action on a cluster's login node, as the example workflow has it, and what its post step gives back.
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, vi } from 'vitest'
import type { ActionOptions } from '../harness/runner.ts'
import { measure, type Services, startMeasuring, startServices } from '../harness/speedproof.ts'
import { scheduled } from '../harness/workflow/happenings.ts'
import { type Machine, onMachine } from '../harness/workflow/run-steps.ts'
import { runWorkflow } from '../harness/workflow/run-workflow.ts'
import { hold, isEmpty, isOver, onNodes, PATIENCE, ranksOf, slurm } from './on-cluster.ts'

const EXPERIMENT = 'configs/experiments/my-change.yaml'

/** A login node finds its cluster without this. */
function onCluster(options: Partial<ActionOptions> = {}): Partial<ActionOptions> {
  return { ...options, environment: { ...options.environment, SLURM_CONF: process.env.SLURM_CONF } }
}

it('slurm.yml measures on two nodes and leaves its result and no job', async () => {
  const workspace = await onNodes()
  await mkdir(dirname(join(workspace, EXPERIMENT)), { recursive: true })
  await rename(join(workspace, 'experiment.yaml'), join(workspace, EXPERIMENT))
  await writeFile(join(workspace, 'requirements.txt'), '')
  await using services = await startServices()
  const act = async (folder: string, given: Services, options: Partial<ActionOptions>) =>
    await measure(folder, given, onCluster(options))
  const machine: Machine = { workspace, services, happening: scheduled(), ran: [], act }
  const ended = await runWorkflow('examples/workflows/slurm.yml', scheduled(), onMachine(machine))
  if (ended.status !== 'ran') throw new Error('it was not triggered')
  expect(ended.jobs).toMatchObject([{ result: 'success', outputs: { verdict: 'passed' } }])
  expect(Object.keys(services.artifacts.uploaded)).toContain('speedproof-faulty-measure-attempt-1')
  await isOver(/job (\d+)/.exec(machine.ran[0]?.main.lines.join('\n') ?? '')?.[1] ?? '')
  await isEmpty(workspace)
})

it('a main step that is killed has its ranks ended and its allocation given back by the post step', async () => {
  const folder = await onNodes()
  await hold(folder, '02-block-1-optimized')
  await using services = await startServices()
  await using action = await startMeasuring(folder, services, onCluster())
  await ranksOf(folder, '02-block-1-optimized')
  process.kill(action.pid, 'SIGKILL')
  const { post } = await action.finished
  const job = /gave back Slurm job (\d+)/.exec(post?.lines.join('\n') ?? '')?.[1]
  expect(job).toBeDefined()
  await vi.waitUntil(
    async () => !(await slurm('squeue', '--noheader', '--format=%i')).split('\n').includes(job ?? ''),
    PATIENCE,
  )
  await isEmpty(folder)
})
