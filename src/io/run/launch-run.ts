// One launch of one run: prepared, started, watched and ended, and read with all that was seen of it.
import { join } from 'node:path'
import { setInterval } from 'node:timers/promises'
import type { Experiment } from '../../config/experiment.ts'
import type { TrainerInput } from '../../config/launch/trainer-input.ts'
import { CancelledError } from '../../errors.ts'
import { isIdle, type Launched, type LaunchRecord, outcomeOf } from '../../measure/outcome.ts'
import { errorVariables, launchCommand } from '../../plan/command.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import { programOf } from '../../plan/program.ts'
import type { RunFiles } from '../../plan/torchrun.ts'
import type { MetricsEvent } from '../../read/events.ts'
import type { Reader } from '../../read/reader.ts'
import { readerOf } from '../../read/readers.ts'
import type { Engine } from '../engine/engine.ts'
import type { Workspace } from '../folder/workspace.ts'
import { readRunMetrics } from '../load/read-run-files.ts'
import { askNccl } from '../machine/nccl-log.ts'
import type { Machine } from '../machine/take-machine.ts'
import { findRootCause, lastPrintedIn } from '../process/log/root-cause.ts'
import { FileTail } from '../process/log/tail.ts'
import { ReportClock } from '../process/report-clock.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import type { VariantPlace } from '../revisions/variant-places.ts'
import { collectSource } from '../source/collect.ts'
import { pythonPath } from '../system/python-path.ts'
import { codeHashes, hashSources } from './code-hash.ts'
import { cacheVariables, watchCache } from './compile-cache.ts'
import type { Progress } from './progress.ts'
import { packageVariables } from './python-package.ts'

/** What a run trains. */
export interface Training {
  readonly experiment: Experiment
  /** Whether a few steps of it are traced. */
  readonly isTraced?: boolean
  readonly place: VariantPlace
  readonly input: TrainerInput
}

export interface RunHooks {
  readonly cancelled: AbortSignal
  readonly progress: Progress
  readonly machine: Machine
  readonly engine: Engine
  /** Called before a launch with the marker that finds its processes again. */
  readonly onStart: (marker: string) => void
}

const POLL_MILLISECONDS = 500

export async function launchRun(
  run: PlannedRun,
  training: Training,
  workspace: Workspace,
  hooks: RunHooks,
): Promise<Launched> {
  const files = await workspace.prepareRun(run, training.input)
  let launch = await superviseRun(run, files, training, workspace, hooks)
  const reader = readerOf(training.experiment.metrics)
  try {
    await collectSource(reader, files.directory, launch.result, {
      python: training.place.python,
      workingDirectory: training.place.workingDirectory,
      environment: trainerEnvironment(process.env, namedVariables(training.experiment, run)),
      cancelled: hooks.cancelled,
    })
  } catch (error) {
    if (!(error instanceof CancelledError) || launch.result.status === 'not-started') throw error
    // Without its metrics the launch is not over.
    launch = { ...launch, result: { status: 'cancelled', wallSeconds: launch.result.wallSeconds } }
  }
  const metrics = await readRunMetrics(files.directory, reader)
  const outcome = outcomeOf(run, launch, metrics)
  if (!isIdle(launch, outcome)) return { launch, outcome }
  const said = { ...launch, lastLine: await lastPrintedIn(files.logFile) }
  return { launch: said, outcome: outcomeOf(run, said, metrics) }
}

async function superviseRun(
  run: PlannedRun,
  files: RunFiles,
  { experiment, input, isTraced, place: { workingDirectory, python } }: Training,
  workspace: Workspace,
  { cancelled, progress, machine, engine, onStart }: RunHooks,
): Promise<LaunchRecord> {
  const cacheDirectory = workspace.cacheDirectory(run.variant)
  // Files in the folder of results are not part of the trainer's code.
  const resultsDirectory = workspace.directory
  const caches = cacheVariables(cacheDirectory)
  const named = namedVariables(experiment, run)
  const isOurs = Object.keys(caches).every((name) => !Object.hasOwn(named, name))
  const program = programOf(experiment)
  const cacheState = await watchCache(cacheDirectory)
  const before = await hashSources(program, workingDirectory, resultsDirectory)
  const reader = readerOf(experiment.metrics)
  const environment = {
    ...trainerEnvironment(process.env, { ...caches, ...errorVariables(experiment, files), ...named }),
    ...packageVariables(reader, files.directory, named, isTraced ? files.profileDirectory : null),
  }
  const { nodes, nproc_per_node } = experiment.launch
  const nccl = await askNccl(files.directory, nodes * nproc_per_node, environment)
  const startedAt = new Date().toISOString()
  const ended = new AbortController()
  await using sampler = await machine.watch(files.machineFile)
  // The live view is a courtesy: no trouble of it ends a training.
  const reportTimes = new ReportClock()
  const followers = [progress, sampler, reportTimes]
  const watched = watchMetrics(files, reader, followers, ended.signal).catch(() => {})
  try {
    const result = await engine.launch(
      {
        command: launchCommand(experiment, run, files, python, input.flags),
        workingDirectory,
        environment: { ...environment, ...nccl.variables },
        logFile: files.logFile,
        timeoutSeconds: experiment.launch.timeout_minutes * 60,
        python: pythonPath(python, workingDirectory),
        directory: files.directory,
        on: 'all',
      },
      {
        cancelled,
        onStart: (marker) => {
          sampler.follow(marker)
          onStart(marker)
        },
        onLine: (line) => progress.trainerLine(line),
      },
    )
    const compileCache = isOurs ? await cacheState() : null
    const after = await hashSources(program, workingDirectory, resultsDirectory)
    const code = codeHashes(before, after)
    const findings = await findRootCause({ ...files, nodes }, result)
    const interconnect = await nccl.transports()
    const { reports } = reportTimes
    const seen = result.status === 'timed-out' && reports !== undefined ? { reports } : {}
    return { runId: run.id, startedAt, result, ...findings, ...seen, interconnect, compileCache, code }
  } finally {
    ended.abort()
    await watched
  }
}

function namedVariables({ launch, variants }: Experiment, run: PlannedRun): Record<string, string> {
  return { ...launch.env, ...variants[run.variant].env }
}

interface Follower {
  event(event: MetricsEvent): void
  /** Called at each look at the file. */
  tick(): void
}

/** Feeds the live view and the sampler from the source of the metrics while it grows. What is wrong with it is said after the run. */
async function watchMetrics(
  { directory }: RunFiles,
  { liveFile, liveEvent }: Reader,
  followers: readonly Follower[],
  ended: AbortSignal,
): Promise<void> {
  const tail = liveFile === null ? null : new FileTail(join(directory, liveFile))
  const look = async () => {
    for (const line of (await tail?.read()) ?? []) {
      const event = liveEvent(line)
      if (event) for (const follower of followers) follower.event(event)
    }
    for (const follower of followers) follower.tick()
  }
  try {
    for await (const _ of setInterval(POLL_MILLISECONDS, null, { signal: ended })) await look()
  } catch (error) {
    if (!ended.aborted) throw error
  }
  // Some trainers report all of their steps at the end.
  await look()
}
