// The engine for a cluster: one allocation for the experiment, and each launch is one of its job steps.
import { join } from 'node:path'
import type { Experiment } from '../../../config/experiment.ts'
import type { AgentPlace } from '../../../plan/slurm.ts'
import { pythonPath } from '../../system/python-path.ts'
import { plainText } from '../../system/sanitize.ts'
import type { Engine, EngineRequest } from '../engine.ts'
import { type Allocation, lossOf, type QueueHooks, takeAllocation } from './allocation.ts'
import { cancelJob, hasGpus, jobFacts } from './commands.ts'
import { answersOf, type StepsOn } from './each-node.ts'
import { launchStep } from './launch-step.ts'
import { Lease } from './lease.ts'
import { noteNodes, requireSameKind } from './same-kind.ts'
import { requireShared } from './shared-folder.ts'

export interface SlurmRequest extends EngineRequest {
  readonly experiment: Experiment
  readonly agent: string
  /** New and empty, for this allocation alone; those of earlier ones are beside it. */
  readonly folder: string
  readonly isResumed: boolean
}

export interface SlurmHooks extends Omit<QueueHooks, 'onJob'> {
  /** Called as soon as there is something to give back: after a kill, the post step does it. */
  readonly onAllocation: (left: LeftAllocation) => void
}

/** What the post step needs to give an allocation back. */
export interface LeftAllocation {
  /** Null for an allocation that is not ours to end. */
  readonly jobId: string | null
  readonly leaseFile: string
}

const NEVER = new AbortController().signal
const LEFT_SECONDS = 30

/** Throws a ConfigError, a RunError or a CancelledError; then nothing is left in the queue. */
export async function openSlurm(request: SlurmRequest, hooks: SlurmHooks): Promise<Engine> {
  const { experiment, folder, workingDirectory, agent } = request
  const { launch } = experiment
  await using opening = new AsyncDisposableStack()
  const lease = opening.use(new Lease(join(folder, 'lease')))
  const gpus = launch.slurm?.gpus_per_node
  const place = {
    python: pythonPath(launch.python, workingDirectory),
    agent,
    workingDirectory,
    gpusPerNode: gpus ?? ((await hasGpus(launch.slurm?.partition)) ? launch.nproc_per_node : 0),
    processes: launch.nproc_per_node,
    leaseFile: lease.file,
  }
  if (process.env.SLURM_JOB_ID !== undefined) hooks.onAllocation({ jobId: null, leaseFile: lease.file })
  const allocation = await takeAllocation(experiment, place, join(folder, 'job.txt'), {
    ...hooks,
    onJob: (jobId) => hooks.onAllocation({ jobId, leaseFile: lease.file }),
  })
  opening.defer(async () => {
    if (allocation.isOwn) await cancelJob(allocation.jobId)
  })
  await prepare(request, allocation, place, hooks)
  const opened = opening.move()
  return engineOn(allocation, place, request, lease, () => opened.disposeAsync())
}

async function prepare(
  { experiment, folder, isResumed, environment, workingDirectory }: SlurmRequest,
  { jobId, nodes }: Allocation,
  place: AgentPlace,
  { cancelled, note }: SlurmHooks,
): Promise<void> {
  if (isResumed)
    await requireSameKind(join(folder, '..'), nodes, (text) => note(`${experiment.name}: ${text}`))
  await noteNodes(folder, nodes)
  const names = nodes.map(({ name }) => name)
  await requireShared(folder, names, [workingDirectory], { jobId, place, environment }, cancelled)
}

function engineOn(
  { jobId, nodes }: Allocation,
  place: AgentPlace,
  { environment }: SlurmRequest,
  lease: Lease,
  close: () => Promise<void>,
): Engine {
  const steps: StepsOn = { jobId, place, environment }
  let lost: string | null = null
  const loss = async () => {
    const job = await jobFacts(jobId)
    return job === null ? null : lossOf(job)
  }
  return {
    kind: 'slurm',
    nodes: () => nodes,
    lost: () => lost,
    async onEachNode(command, request) {
      const words = ['answer', String(request.timeoutSeconds), ...command]
      return await answersOf(
        nodes.map(({ name }) => name),
        words,
        steps,
        request,
      )
    },
    async launch(launch, hooks) {
      if (lost !== null) return { status: 'cancelled', wallSeconds: 0, because: lost }
      const end = await launchStep({
        launch,
        hooks,
        place: { ...place, jobId, python: launch.python, workingDirectory: launch.workingDirectory },
        nodes: launch.on === 'all' ? nodes : nodes.slice(0, 1),
        lease,
        loss,
        notEmpty: (marker, unseen) => notEmpty(marker, unseen, steps),
      })
      if (end.status === 'cancelled' && end.because !== undefined) lost ??= end.because
      return end
    },
    [Symbol.asyncDispose]: close,
  }
}

async function notEmpty(marker: string, nodes: readonly string[], steps: StepsOn): Promise<string[]> {
  const answers = await answersOf(nodes, ['left', marker], steps, {
    timeoutSeconds: LEFT_SECONDS,
    cancelled: NEVER,
  })
  return answers.flatMap((answer) => {
    if (answer.status === 'answered' && /\bleft 0\b/.test(answer.stdout)) return []
    const reason = answer.status === 'answered' ? answer.stdout.trim() : answer.reason
    return [
      `node ${answer.node} is not seen empty (${plainText(reason)}): look there for processes of the training, and end them`,
    ]
  })
}
