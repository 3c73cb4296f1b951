// One launch as a job step: over when each node's agent says that nothing is left, whatever becomes of srun.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../../errors.ts'
import type { LaunchEnd } from '../../../measure/outcome.ts'
import { launchWords, type StepPlace, stepCommand } from '../../../plan/slurm.ts'
import { sumOf } from '../../../statistics/averages.ts'
import { createOwnFile, makeNewFolder } from '../../folder/own-file.ts'
import { notStarted } from '../../process/launch-reaper.ts'
import { TrainerLog } from '../../process/log/trainer-log.ts'
import type { LaunchHooks } from '../../process/supervisor.ts'
import { newMarker } from '../../process/sweep.ts'
import { plainText } from '../../system/sanitize.ts'
import type { EngineLaunch, Node } from '../engine.ts'
import { readAgents } from './agents.ts'
import { ENDING } from './allocation.ts'
import { lastErrorIn, slurmEnvironment } from './commands.ts'
import type { Lease } from './lease.ts'
import { type Finding, StepWatch } from './step-watch.ts'

export interface Step {
  readonly launch: EngineLaunch
  readonly hooks: LaunchHooks
  readonly place: Omit<StepPlace, 'nodes' | 'names' | 'leaseFile'>
  /** Those that the launch runs on. */
  readonly nodes: readonly Node[]
  readonly lease: Lease
  /** Why the allocation is over; null while it is not. */
  readonly loss: () => Promise<string | null>
  /** The nodes that are not seen empty of what carries the marker, each with the reason. */
  readonly notEmpty: (marker: string, nodes: readonly string[]) => Promise<readonly string[]>
}

const POLL_MILLISECONDS = 100
/** With many nodes their files are read less often. */
const POLL_MILLISECONDS_PER_NODE = 20
/** An agent gives its ranks 3 s, and its reaper surrenders after 30; the runner ends us 10 s after a cancel. */
const PATIENCE_SECONDS = { 'after a cancel': 6, otherwise: 50 } as const
const SRUN_SECONDS = 2
/** An agent says something every 5 s, and a network file system shows it within a few more. */
const SILENCE_SECONDS = 12

/** A launch that was ended from outside is `cancelled` and says what happened: `--resume` starts it again. */
export async function launchStep(step: Step): Promise<LaunchEnd> {
  const { launch, hooks, lease } = step
  const marker = newMarker()
  await hooks.onStart?.(marker)
  if (hooks.cancelled.aborted) return { status: 'cancelled', wallSeconds: 0 }
  const folder = join(launch.directory, 'agents')
  const log = await openLog(folder, launch.logFile, hooks)
  if (!(log instanceof TrainerLog)) return log
  await using _closedAtEnd = log
  lease.allow(marker)
  const srun = startSrun(step, marker, folder)
  const messages = listen(srun.stderr)
  const drained = Promise.all([log.drain(srun.stdout), messages.ended])
  const finding = await watch(step, srun, folder, messages.last)
  lease.stop()
  const left = await waitUntilClean(step, srun, folder, marker)
  await finishOutput(srun, drained)
  return endOf(hooks.cancelled.aborted ? finding : await explained(finding, step.loss), left)
}

async function openLog(folder: string, logFile: string, { onLine }: LaunchHooks) {
  try {
    await makeNewFolder(folder)
    return new TrainerLog(await createOwnFile(logFile), onLine ?? (() => {}))
  } catch (error) {
    return notStarted(`cannot write the log file: ${messageOf(error)}`)
  }
}

type Srun = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable }

function startSrun({ launch, place, nodes, lease }: Step, marker: string, folder: string): Srun {
  const names = Object.keys(launch.environment)
  const full = { ...place, nodes: nodes.map(({ name }) => name), names, leaseFile: lease.file }
  const [first] = nodes
  if (first === undefined) throw new Error('an allocation has a node')
  const machineFile = join(launch.directory, 'machine.jsonl')
  const words = launchWords({ folder, marker, machineFile, address: first.address }, full, launch.command)
  const [program = '', ...arguments_] = stepCommand(full, words)
  return spawn(program, arguments_, {
    cwd: '/',
    env: { ...slurmEnvironment(process.env), ...launch.environment },
    // A session of its own: an interrupt typed at a terminal reaches us alone, and we decide.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  }) as Srun
}

/** srun's own words, since the ranks print on the other stream: the trainer's log is not the place for them. */
function listen(stream: Readable) {
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    text = (text + String(chunk)).slice(-4096)
  })
  return { ended: once(stream, 'close'), last: () => lastErrorIn(text) }
}

async function watch(
  { launch, hooks, nodes, loss }: Step,
  srun: Srun,
  folder: string,
  lastMessage: () => string | null,
): Promise<Finding> {
  const names = nodes.map(({ name }) => name)
  const steps = new StepWatch(launch.timeoutSeconds)
  const srunEnd = endOfProcess(srun)
  let endedSrun: string | null = null
  void srunEnd.then((how) => {
    endedSrun = how
  })
  while (true) {
    const agents = await readAgents(folder, names)
    const found = steps.look({
      agents,
      srun: endedSrun === null ? null : { how: endedSrun, message: lastMessage() },
      isCancelled: hooks.cancelled.aborted,
      now: performance.now() / 1000,
    })
    if (found !== null) return found
    if (steps.wantsJobState(performance.now() / 1000)) {
      const reason = await loss()
      if (reason !== null) return steps.lost(`the allocation is over: ${reason}`, performance.now() / 1000)
    }
    await sleep(Math.max(POLL_MILLISECONDS, names.length * POLL_MILLISECONDS_PER_NODE))
  }
}

const EXPLAIN_SECONDS = 10

/** What an agent or srun saw of the end of an allocation, Slurm can tell better, if not at once. */
async function explained(finding: Finding, loss: Step['loss']): Promise<Finding> {
  if (finding.status !== 'cancelled' || finding.because === undefined) return finding
  let seen: string | null = null
  for (let second = 0; second < EXPLAIN_SECONDS; second += 1) {
    seen = await loss()
    if (seen !== null && seen !== ENDING) break
    // A job that still runs will not have ended by what has ended a launch some seconds ago.
    if (seen === null && second >= RUNNING_SECONDS) break
    await sleep(1000)
  }
  return seen === null ? finding : { ...finding, because: `the allocation is over: ${seen}` }
}

const RUNNING_SECONDS = 2

async function endOfProcess(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit')
    return code === null ? `by ${String(signal)}` : `with exit code ${String(code)}`
  } catch (error) {
    return `before it began: ${messageOf(error)}`
  }
}

/** What is not seen empty, in words. */
async function waitUntilClean(
  { hooks, nodes, notEmpty }: Step,
  srun: Srun,
  folder: string,
  marker: string,
): Promise<readonly string[]> {
  const names = nodes.map(({ name }) => name)
  const startedAt = performance.now()
  let [heard, heardAt] = [-1, startedAt]
  while (true) {
    const agents = await readAgents(folder, names)
    const unclean = agents.filter(({ isClean }) => !isClean)
    if (unclean.length === 0) return []
    const [bytes, now] = [sumOf(agents.map((agent) => agent.bytes)), performance.now()]
    if (bytes !== heard) [heard, heardAt] = [bytes, now]
    const patience = hooks.cancelled.aborted ? 'after a cancel' : 'otherwise'
    // Without srun, what never began begins no more, and agents that say nothing are gone.
    const isHopeless = hasEnded(srun) && now - heardAt > SILENCE_SECONDS * 1000
    if (!isHopeless && now - startedAt < PATIENCE_SECONDS[patience] * 1000) {
      await sleep(POLL_MILLISECONDS)
      continue
    }
    const unseen = unclean.map(({ node }) => node)
    return hooks.cancelled.aborted
      ? unseen.map((node) => `node ${node} is not seen empty yet`)
      : await notEmpty(marker, unseen)
  }
}

async function finishOutput(srun: Srun, drained: Promise<unknown>): Promise<void> {
  const patience = sleep(SRUN_SECONDS * 1000, 'stuck', { ref: false })
  if ((await Promise.race([drained, patience])) === 'stuck') {
    // All agents have spoken: what srun still waits for is nothing of ours.
    if (srun.pid !== undefined && !hasEnded(srun)) process.kill(-srun.pid, 'SIGKILL')
    srun.stdout.destroy()
    srun.stderr.destroy()
  }
  await drained.catch(() => {})
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** `left`: nothing more may be launched where a process may be left, so that the launch is cut. */
function endOf(finding: Finding, left: readonly string[]): LaunchEnd {
  if (left.length === 0) return finding
  const because = [finding.status === 'cancelled' ? finding.because : undefined, ...left].filter(
    (part) => part !== undefined,
  )
  const wallSeconds = finding.status === 'not-started' ? 0 : finding.wallSeconds
  return { status: 'cancelled', wallSeconds, because: plainText(because.join('; ')) }
}
