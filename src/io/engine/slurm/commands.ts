// Slurm's own commands: their environment, their answers, and what they say of jobs and nodes.
import { CancelledError, ConfigError, RunError } from '../../../errors.ts'
import { runShort } from '../../process/short-command.ts'
import { plainText } from '../../system/sanitize.ts'
import type { Node } from '../engine.ts'

/** A controller that is busy with thousands of jobs takes its time. */
const ANSWER_SECONDS = 60
const NEVER = new AbortController().signal

/** What finds Slurm. Its other variables would steer a command of ours as if they were options. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LD_LIBRARY_PATH', 'SLURM_CONF']

export function slurmEnvironment(parent: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => (parent[name] === undefined ? [] : [[name, parent[name]]])),
  )
}

export type Answer =
  | { readonly status: 'answered'; readonly stdout: string }
  | { readonly status: 'refused'; readonly reason: string }

/** Throws a ConfigError where there is no Slurm, and a CancelledError on a cancel. */
export async function ask(command: readonly string[], cancelled: AbortSignal = NEVER): Promise<Answer> {
  const ended = await runShort(command, '/', slurmEnvironment(process.env), cancelled, ANSWER_SECONDS)
  if (ended.status === 'no-answer') {
    if (/ENOENT/.test(ended.message)) throw noSlurm(command[0] ?? '')
    return { status: 'refused', reason: ended.message }
  }
  return ended.exitCode === 0
    ? { status: 'answered', stdout: ended.stdout }
    : { status: 'refused', reason: lastErrorIn(ended.stderr) ?? `exit code ${ended.exitCode}` }
}

function noSlurm(program: string): ConfigError {
  return new ConfigError(
    `launch.engine: got slurm, but there is no ${program} on PATH. Start Speedproof on a login node of the cluster, install Slurm's commands, or set engine: local`,
  )
}

/** Without the name of the program that says it. */
export function lastErrorIn(text: string): string | null {
  const last = text.trim().split('\n').at(-1) ?? ''
  return last === '' ? null : plainText(last).replace(/^\w+: (error: )?/, '')
}

export interface JobFacts {
  /** RUNNING, PENDING, TIMEOUT, ... */
  readonly state: string
  readonly reason: string
  readonly nodes: number
  /** As Slurm abbreviates it: n[1-2]. */
  readonly nodeList: string
}

/** Null where its controller does not answer. A job that Slurm has forgotten is over. */
export async function jobFacts(jobId: string): Promise<JobFacts | null> {
  const answer = await ask(['scontrol', '--oneliner', 'show', 'job', jobId])
  if (answer.status === 'refused')
    return /invalid job id/i.test(answer.reason)
      ? { state: 'FORGOTTEN', reason: 'Slurm knows it no more', nodes: 0, nodeList: '' }
      : null
  const values = valuesIn(answer.stdout)
  return {
    state: values.get('JobState') ?? 'UNKNOWN',
    reason: values.get('Reason') ?? 'None',
    nodes: Number.parseInt(values.get('NumNodes') ?? '0', 10),
    nodeList: values.get('NodeList') ?? '',
  }
}

export interface SlurmNode extends Node {
  /** What it is made of, as Slurm knows it. */
  readonly kind: string
}

export async function nodesIn(nodeList: string): Promise<SlurmNode[]> {
  const names = (await required(['scontrol', 'show', 'hostnames', nodeList])).trim().split(/\s+/)
  return await Promise.all(
    names.map(async (name) => {
      const values = valuesIn(await required(['scontrol', '--oneliner', 'show', 'node', name]))
      const gres = values.get('Gres')
      const parts = [
        values.get('Arch'),
        `${values.get('CPUTot')} CPUs`,
        `${values.get('RealMemory')} MB`,
        ...(gres === undefined || gres === '(null)' ? [] : [gres]),
      ]
      // Names may not resolve, so addresses are what nodes meet at.
      return { name, address: values.get('NodeAddr') ?? name, kind: parts.join(', ') }
    }),
  )
}

/** Does any node of the partition, or of the one that is taken by default, have GPUs? */
export async function hasGpus(partition: string | undefined): Promise<boolean> {
  const answer = await ask(['sinfo', '--noheader', '--format=%P %G', ...ofPartition(partition)])
  if (answer.status === 'refused') return false
  const lines = answer.stdout.trim().split('\n')
  return lines.some((line) => (partition !== undefined || /^\S*\* /.test(line)) && /\bgpu\b/.test(line))
}

export async function partitions(): Promise<string[]> {
  const answer = await ask(['sinfo', '--noheader', '--format=%R'])
  return answer.status === 'refused' ? [] : [...new Set(answer.stdout.trim().split(/\s+/))]
}

function ofPartition(partition: string | undefined): string[] {
  return partition === undefined ? [] : [`--partition=${partition}`]
}

/** What is over already is no error. */
export async function cancelJob(jobId: string): Promise<void> {
  await ask(['scancel', '--quiet', jobId])
}

async function required(command: readonly string[]): Promise<string> {
  const answer = await ask(command)
  if (answer.status === 'answered') return answer.stdout
  throw new RunError(`Slurm: ${command.join(' ')}: ${answer.reason}; see that its controller answers`)
}

/** KEY=VALUE of `scontrol --oneliner`; a value ends where the next key begins. */
function valuesIn(text: string): Map<string, string> {
  const pieces = text.trim().split(/\s+(?=[A-Za-z][\w:/]*=)/)
  return new Map(
    pieces.map((piece) => {
      const at = piece.indexOf('=')
      return [piece.slice(0, at), piece.slice(at + 1)] as const
    }),
  )
}

export function cancelledInQueue(): CancelledError {
  return new CancelledError('cancelled during set-up: nothing was launched')
}
