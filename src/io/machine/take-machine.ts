// Takes the machine: locks what experiments run on, looks at it before each, and watches it during the runs.
import { dirname, join } from 'node:path'
import type { Experiment } from '../../config/experiment.ts'
import { CancelledError } from '../../errors.ts'
import type { GpuFacts, LockFacts, MachineRecord, Measured, Watched } from '../../measure/machine-record.ts'
import { duration } from '../../text/numbers.ts'
import type { Engine } from '../engine/engine.ts'
import { readMachineFiles, STEPS_FILE } from '../load/read-run-files.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import { pythonPath } from '../system/python-path.ts'
import { probeInterconnect } from './interconnect.ts'
import { type Lock, lockFolder, lockHost, lockNames } from './lock.ts'
import { askNodes } from './nodes.ts'
import { type Examined, findGpus, type PreflightRequest, preflight, unexamined } from './preflight.ts'
import { type Sampler, startSampler } from './sampler.ts'

export interface Machine {
  /** Watches one run; stop it when the run's processes are gone. */
  watch(file: string): Promise<Sampler>
  /** Takes what was seen of a run into `seen`. */
  recall(runId: string, file: string): Promise<void>
}

export interface ExaminedMachine extends Machine {
  readonly seen: Watched
}

export interface LockHooks {
  readonly cancelled: AbortSignal
  /** Called with a line for people when somebody else has the machine. */
  readonly onWait: (message: string) => void
}

/**
 * Once for all experiments of a call, on all that any of them runs on; the most patient one decides how long to wait.
 * Throws a RunError when the machine cannot be locked at all, and a CancelledError on a cancel.
 */
export async function lockMachine(
  experiments: readonly Experiment[],
  workingDirectory: string,
  { cancelled, onWait }: LockHooks,
): Promise<Lock> {
  const requests = experiments.map((experiment) => requestOf(experiment, workingDirectory, cancelled))
  const names = new Set<string>()
  for (const request of requests)
    for (const name of lockNames(gpusIn(await findGpus(request)))) names.add(name)
  const limitMinutes = Math.max(...experiments.map(({ launch }) => launch.lock_minutes))
  return await lockHost({
    names: [...names].sort(),
    folder: lockFolder(process.env),
    python: requests[0]?.python ?? '',
    limitMinutes,
    cancelled,
    onWait: (holder) =>
      onWait(`waiting up to ${duration(limitMinutes * 60)} (launch.lock_minutes) for ${holder}`),
  })
}

/** Looks at what one experiment runs on; after a cancel, and without the lock, which may be lost later, it lets the machine be. */
export async function examineMachine(
  experiment: Experiment,
  workingDirectory: string,
  lock: () => LockFacts,
  cancelled: AbortSignal,
): Promise<ExaminedMachine> {
  const request = requestOf(experiment, workingDirectory, cancelled)
  const facts = await examined(request, lock())
  const gpus = gpusIn(facts.gpus)
  const records = new Map<string, readonly MachineRecord[]>()
  return {
    get seen() {
      return { preflight: { ...facts, lock: lock() }, records }
    },
    watch: (file) => startSampler({ gpus, file, python: request.python, context: request.context }),
    async recall(runId, file) {
      const ofNodes = await readMachineFiles(file, 1)
      if (ofNodes !== null) records.set(runId, ofNodes)
    },
  }
}

/**
 * The same for the nodes of an engine, whose watchers lock and sample them: Speedproof itself may run where no GPU is. What
 * it sees of a launch is when which step was reported.
 */
export async function examineNodes(
  experiment: Experiment,
  workingDirectory: string,
  engine: Pick<Engine, 'nodes' | 'onEachNode'>,
  lock: () => LockFacts,
  cancelled: AbortSignal,
): Promise<ExaminedMachine> {
  const request = requestOf(experiment, workingDirectory, cancelled)
  const facts = await examinedNodes(experiment, request, engine, lock())
  const records = new Map<string, readonly MachineRecord[]>()
  return {
    get seen() {
      return { preflight: { ...facts, lock: lock() }, records }
    },
    watch: (file) =>
      startSampler({
        gpus: [],
        file: join(dirname(file), STEPS_FILE),
        python: request.python,
        context: request.context,
      }),
    async recall(runId, file) {
      const ofNodes = await readMachineFiles(file, facts.nodes?.length ?? 1)
      if (ofNodes !== null) records.set(runId, ofNodes)
    },
  }
}

async function examinedNodes(
  { launch, data = [] }: Experiment,
  request: PreflightRequest,
  engine: Pick<Engine, 'nodes' | 'onEachNode'>,
  lock: LockFacts,
): Promise<Examined> {
  const nothing = (reason: string) => unexamined({ status: 'not-measured', reason }, request, reason)
  if (lock.status !== 'held') return nothing('the lock is not held')
  try {
    const { python, processes } = request
    const { cancelled } = request.context
    const { nodes, port } = await askNodes(engine, { python, processes, data, cancelled })
    const [first] = nodes
    const answered = nodes.filter((one) => one.status === 'answered')
    if (first?.status !== 'answered' || answered.length < nodes.length)
      return { ...nothing('a node did not answer'), nodes: [...nodes] }
    const { host, gpus, processes: onGpus, probes } = first
    const backend = answered.every((one) => one.gpus.status === 'measured') ? 'nccl' : 'gloo'
    const asked = { python, processes, backend, port, cancelled } as const
    // On the CPU nothing is judged by it, and torch takes seconds to start.
    const isProbed = backend === 'nccl' || launch.interconnect !== undefined
    return {
      ...{ host, gpus, processes: onGpus, probes },
      ...(isProbed ? { interconnect: await probeInterconnect(engine, asked) } : {}),
      processesWanted: processes,
      nodes: [...nodes],
    }
  } catch (error) {
    if (!(error instanceof CancelledError)) throw error
    return nothing('cancelled before the nodes were checked')
  }
}

async function examined(request: PreflightRequest, lock: LockFacts): Promise<Examined> {
  try {
    if (lock.status === 'held') return await preflight(request)
    const reason = lock.status === 'lost' ? 'the lock was lost' : 'the machine was not free'
    return unexamined(await findGpus(request), request, reason)
  } catch (error) {
    if (!(error instanceof CancelledError)) throw error
    const reason = 'cancelled before the machine was checked'
    return unexamined({ status: 'not-measured', reason }, request, reason)
  }
}

function requestOf(
  { launch }: Experiment,
  workingDirectory: string,
  cancelled: AbortSignal,
): PreflightRequest {
  const context = { environment: trainerEnvironment(process.env, launch.env), workingDirectory, cancelled }
  return { context, python: pythonPath(launch.python, workingDirectory), processes: launch.nproc_per_node }
}

function gpusIn(found: Measured<GpuFacts[]>): readonly GpuFacts[] {
  return found.status === 'measured' ? found.value : []
}
