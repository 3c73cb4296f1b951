// The nodes of an experiment: a batch job of its own, or the allocation that Speedproof was started in.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Experiment } from '../../../config/experiment.ts'
import { ConfigError, RunError } from '../../../errors.ts'
import { type AgentPlace, allocationCommand } from '../../../plan/slurm.ts'
import { duration } from '../../../text/numbers.ts'
import { plainText } from '../../system/sanitize.ts'
import {
  ask,
  cancelJob,
  cancelledInQueue,
  type JobFacts,
  jobFacts,
  nodesIn,
  partitions,
  type SlurmNode,
} from './commands.ts'

export interface Allocation {
  readonly jobId: string
  /** False for the one that Speedproof was started in, which is not ours to end. */
  readonly isOwn: boolean
  readonly nodes: readonly SlurmNode[]
}

export interface QueueHooks {
  readonly cancelled: AbortSignal
  readonly note: (message: string) => void
  /** Called as soon as the batch job is in the queue. */
  readonly onJob: (jobId: string) => void
}

const POLL_MILLISECONDS = { first: 500, longest: 10_000 } as const
const REMIND_SECONDS = 300

/**
 * Throws a ConfigError for what Slurm refuses, a RunError for a queue that takes longer than launch.lock_minutes, and a
 * CancelledError on a cancel. In none of these cases a job is left.
 */
export async function takeAllocation(
  experiment: Experiment,
  place: AgentPlace,
  logFile: string,
  hooks: QueueHooks,
): Promise<Allocation> {
  const around = process.env.SLURM_JOB_ID
  if (around !== undefined) return await allocationAround(around, experiment)
  const jobId = await submit(experiment, place, logFile, hooks)
  try {
    const nodes = await nodesIn(await startedOn(jobId, experiment, hooks))
    return { jobId, isOwn: true, nodes }
  } catch (error) {
    await cancelJob(jobId)
    throw error
  }
}

async function allocationAround(jobId: string, { launch: { nodes } }: Experiment): Promise<Allocation> {
  const job = await jobFacts(jobId)
  if (job === null || lossOf(job) !== null)
    throw new ConfigError(
      `launch.engine: SLURM_JOB_ID is ${jobId}, but Slurm knows no such job that runs; start Speedproof in a living allocation, or unset SLURM_JOB_ID`,
    )
  if (job.nodes < nodes)
    throw new ConfigError(
      `launch.nodes: got ${nodes}, but the allocation that Speedproof was started in (job ${jobId}) has ${job.nodes}; lower nodes, or start it outside of an allocation`,
    )
  return { jobId, isOwn: false, nodes: (await nodesIn(job.nodeList)).slice(0, nodes) }
}

async function submit(
  experiment: Experiment,
  place: AgentPlace,
  logFile: string,
  { cancelled, note, onJob }: QueueHooks,
): Promise<string> {
  const answer = await ask(allocationCommand(experiment, place, logFile), cancelled)
  if (answer.status === 'refused') throw await refusal(answer.reason)
  const [jobId = ''] = answer.stdout.trim().split(';')
  if (!/^\d+$/.test(jobId))
    throw new RunError(`Slurm: sbatch answered ${JSON.stringify(answer.stdout)}, expected a job id`)
  onJob(jobId)
  note(`${experiment.name}: Slurm has the allocation in its queue as job ${jobId}`)
  return jobId
}

async function refusal(reason: string): Promise<ConfigError> {
  const known = /partition/i.test(reason) ? await partitions() : []
  const remedy =
    known.length > 0
      ? `partitions here: ${plainText(known.join(', '))}`
      : 'see launch.nodes, launch.slurm and what sinfo prints'
  return new ConfigError(`launch.slurm: Slurm refused the allocation: ${reason}; ${remedy}`)
}

/** Its nodes, once it runs. */
async function startedOn(
  jobId: string,
  { name, launch }: Experiment,
  { cancelled, note }: QueueHooks,
): Promise<string> {
  const limitSeconds = launch.lock_minutes * 60
  const startedAt = performance.now()
  let [shown, shownAt] = ['', 0]
  let pause: number = POLL_MILLISECONDS.first
  while (true) {
    const job = await jobFacts(jobId)
    const waited = (performance.now() - startedAt) / 1000
    if (cancelled.aborted) throw cancelledInQueue()
    if (job?.state === 'RUNNING') {
      note(`${name}: Slurm job ${jobId} runs on ${job.nodeList}, after ${duration(waited)} in the queue`)
      return job.nodeList
    }
    const loss = job === null ? null : lossOf(job)
    if (loss !== null) throw new RunError(`Slurm job ${jobId} ended before it began: ${loss}`)
    const reason = job === null ? 'no answer from the controller' : job.reason
    if (waited > limitSeconds)
      throw new RunError(
        `Slurm job ${jobId} was still in the queue after ${duration(waited)} (${plainText(reason)}); raise launch.lock_minutes, ask for fewer nodes, or look at squeue`,
      )
    // The first look comes before the scheduler has had its turn.
    if (waited > 1 && (reason !== shown || waited - shownAt > REMIND_SECONDS)) {
      ;[shown, shownAt] = [reason, waited]
      note(
        `${name}: waiting in the queue of Slurm for ${duration(waited)} (${plainText(reason)}), up to ${duration(limitSeconds)} (launch.lock_minutes)`,
      )
    }
    await sleep(pause, undefined, { signal: cancelled }).catch(() => {})
    pause = Math.min(pause * 1.5, POLL_MILLISECONDS.longest)
  }
}

const WAITS = ['PENDING', 'CONFIGURING', 'RUNNING', 'REQUEUED', 'RESIZING', 'SUSPENDED', 'STOPPED', 'UNKNOWN']
const LOSSES: Readonly<Record<string, string>> = {
  TIMEOUT: 'its time limit was reached; raise launch.slurm.time_minutes, or the limit of the partition',
  DEADLINE: 'its deadline was reached',
  CANCELLED: 'somebody cancelled it (scancel)',
  NODE_FAIL: 'one of its nodes failed',
  PREEMPTED: 'another job took its place',
  OUT_OF_MEMORY: 'it ran out of memory',
  COMPLETED: 'its batch job ended, because its lease was not renewed or somebody ended it',
}

/** Of a job whose last processes are being ended: Slurm tells later what it was. */
export const ENDING = 'it is being ended'
const ENDING_REASONS: Readonly<Record<string, string>> = { TimeLimit: 'TIMEOUT', NodeDown: 'NODE_FAIL' }

/** Why an allocation is over; null for one that is not. */
export function lossOf({ state, reason }: JobFacts): string | null {
  if (WAITS.includes(state)) return null
  if (state === 'COMPLETING') return LOSSES[ENDING_REASONS[reason] ?? ''] ?? ENDING
  return LOSSES[state] ?? `its state is ${plainText(`${state} (${reason})`)}`
}
