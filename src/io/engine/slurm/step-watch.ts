// What the signs of a job step mean: goes on, or is over, and how.
import type { LaunchEnd } from '../../../measure/outcome.ts'
import { LEASE_SECONDS } from '../../../plan/slurm.ts'
import { notStarted } from '../../process/launch-reaper.ts'
import { type AgentState, hasFailed } from './agents.ts'

export type Finding = LaunchEnd

export interface Signs {
  readonly agents: readonly AgentState[]
  /** How srun ended, and its last message; null while it runs. */
  readonly srun: { readonly how: string; readonly message: string | null } | null
  readonly isCancelled: boolean
  /** Seconds of any clock. */
  readonly now: number
}

/** The launcher on the other nodes notices by itself, if it does. */
const AFTER_FAILURE_SECONDS = 15
/** Until what an agent has written is seen here. */
const FILE_SYSTEM_SECONDS = 10
/** Slurm starts a step on thousands of nodes within this. */
const START_SECONDS = 180
const JOB_STATE_SECONDS = 5

export class StepWatch {
  readonly #timeoutSeconds: number
  #startedAt: number | null = null
  #endedAt: number | null = null
  #failedAt: number | null = null
  #srunEndedAt: number | null = null
  #askedAt = 0
  readonly #signsOfLife = new Map<string, { bytes: number; at: number }>()

  constructor(timeoutSeconds: number) {
    this.#timeoutSeconds = timeoutSeconds
  }

  /** Null as long as the step goes on. */
  look(signs: Signs): Finding | null {
    const { agents, isCancelled, now } = signs
    this.#startedAt ??= now
    this.#note(signs)
    const wallSeconds = (this.#endedAt ?? now) - this.#startedAt
    // The verdict on a node's command is said between its end and `clean`.
    if (agents.every(({ isClean }) => isClean) && agents.every(({ stopping }) => stopping === null))
      return endOf(agents, wallSeconds)
    if (isCancelled) return { status: 'cancelled', wallSeconds }
    if (this.#endedAt === null && wallSeconds > this.#timeoutSeconds)
      return { status: 'timed-out', wallSeconds }
    if (this.#failedAt !== null && now - this.#failedAt > AFTER_FAILURE_SECONDS)
      return endOf(agents, wallSeconds)
    const because = this.#lossIn(signs)
    return because === null ? null : this.lost(because, now)
  }

  /** True now and then: the controller of Slurm has others to answer. */
  wantsJobState(now: number): boolean {
    if (this.#askedAt === 0) this.#askedAt = now
    if (now - this.#askedAt < JOB_STATE_SECONDS) return false
    this.#askedAt = now
    return true
  }

  lost(because: string, now: number): Finding {
    return { status: 'cancelled', wallSeconds: now - (this.#startedAt ?? now), because }
  }

  #note({ agents, srun, now }: Signs): void {
    if (agents.every(({ hasEnded }) => hasEnded)) this.#endedAt ??= now
    if (agents.some((one) => hasFailed(one) && one.stopping === null)) this.#failedAt ??= now
    if (srun !== null) this.#srunEndedAt ??= now
    for (const { node, bytes } of agents)
      if (this.#signsOfLife.get(node)?.bytes !== bytes) this.#signsOfLife.set(node, { bytes, at: now })
  }

  #lossIn({ agents, srun, now }: Signs): string | null {
    const stopped = agents.find(({ stopping }) => stopping !== null)
    if (stopped !== undefined) return stoppingText(stopped)
    if (srun !== null && now - (this.#srunEndedAt ?? now) > FILE_SYSTEM_SECONDS)
      return `srun ended ${srun.how} before the launch did${srun.message === null ? '' : ` (${srun.message})`}`
    const running = agents.filter(({ hasStarted, isClean }) => hasStarted && !isClean)
    const silent = running.find(({ node }) => now - (this.#signsOfLife.get(node)?.at ?? now) > LEASE_SECONDS)
    if (silent !== undefined)
      return `the agent on node ${silent.node} has said nothing for ${LEASE_SECONDS} s`
    const late = agents.find(({ hasStarted }) => !hasStarted)
    return late !== undefined && now - (this.#startedAt ?? now) > START_SECONDS
      ? `node ${late.node} had not begun after ${START_SECONDS} s`
      : null
  }
}

/** The first that failed tells for all; what the others say follows from it. */
function endOf(agents: readonly AgentState[], wallSeconds: number): Finding {
  const failed = agents.find((one) => hasFailed(one) && one.stopping === null)
  if (failed === undefined) return { status: 'exited', exitCode: 0, wallSeconds }
  if (failed.failure !== null)
    return notStarted(
      `cannot start the command on node ${failed.node}: ${failed.failure}; install it there, or name its full path`,
    )
  const { exit } = failed
  if (exit === null) throw new Error('what has failed has an exit')
  return 'signal' in exit
    ? { status: 'signalled', signal: exit.signal, wallSeconds }
    : { status: 'exited', exitCode: exit.exitCode, wallSeconds }
}

function stoppingText({ node, stopping }: AgentState): string {
  if (stopping === 'lease')
    return `node ${node} saw no sign of life of Speedproof for ${LEASE_SECONDS} s; see that this process was not halted, and that its output folder can be written`
  return `the job step was ended on node ${node} by ${stopping === 'order' ? 'another order' : stopping}, which did not come from Speedproof`
}
