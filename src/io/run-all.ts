// Runs the plan: one launch after the other, everything kept, until it is done or cancelled.
import { setInterval } from 'node:timers/promises'
import { type Standing, withUnlaunched } from '../judge/repeat.ts'
import { type MetricsEvent, metricsEvent } from '../measure/metrics-schema.ts'
import {
  type LaunchEnd,
  type Launched,
  type LaunchRecord,
  type NotRunReason,
  outcomeOf,
  type RankFailure,
} from '../measure/outcome.ts'
import { NOT_REEVALUATED, type Reevaluation } from '../measure/reevaluation.ts'
import type { TimedRun } from '../plan/estimate.ts'
import { fitsBudget, followsLook } from '../plan/looks.ts'
import type { PlannedRun } from '../plan/plan.ts'
import { torchrunCommand } from '../plan/torchrun.ts'
import type { Request } from '../report/result.ts'
import { cacheVariables, watchCache } from './compile-cache.ts'
import type { Machine } from './machine/take-machine.ts'
import { readMetricsFile } from './metrics-reader.ts'
import { readErrorFiles } from './process/error-files.ts'
import { readLogError } from './process/log-error.ts'
import { supervise } from './process/supervisor.ts'
import { FileTail } from './process/tail.ts'
import { trainerEnvironment } from './process/trainer-environment.ts'
import type { Progress } from './progress.ts'
import { pythonPath } from './python-path.ts'
import { reevaluate } from './reevaluate.ts'
import type { VariantPlace, VariantPlaces } from './revisions/variant-places.ts'
import type { RunFiles, Workspace } from './workspace.ts'

export interface RunHooks {
  readonly cancelled: AbortSignal
  readonly progress: Progress
  readonly machine: Machine
  /** False when the pre-flight found what would make every run invalid: then none is launched. */
  readonly isFit: boolean
  /** Called before a launch with the marker that finds its processes again. */
  readonly onStart: (marker: string) => void
  /** Asked after each launch: which launches count, and which have to be repeated? */
  readonly standing: (soFar: readonly Launched[]) => Standing
  /** Asked at each look: is the verdict clear without further blocks? */
  readonly isDecided: (soFar: readonly Launched[]) => boolean
  /** Asked when all is launched: which runs' final checkpoints are to be evaluated once more? */
  readonly toReevaluate: (launched: readonly Launched[]) => readonly string[]
  /** Called after each launch with all of them so far, so that a kill loses nothing. */
  readonly save: (soFar: readonly Launched[], reevaluation?: Reevaluation) => Promise<void>
}

const POLL_MILLISECONDS = 500

export interface AllRun {
  /** One entry for each planned run, and for each repeat of one. */
  readonly launched: readonly Launched[]
  readonly reevaluation: Reevaluation
  /** What broke off the plan, thrown once what was measured has been reported; null if nothing did. */
  readonly problem: Error | null
}

/** Those in `kept` are not run again. A failed warm-up launch ends the plan: nothing after it could pass. */
export async function runAll(
  request: Request,
  plan: readonly PlannedRun[],
  kept: readonly Launched[],
  workspace: Workspace,
  places: VariantPlaces,
  hooks: RunHooks,
): Promise<AllRun> {
  const done: Launched[] = []
  const withRest = (reason: NotRunReason) => withUnlaunched(plan, done, hooks.standing(done).due, reason)
  const end = async (reason: NotRunReason): Promise<AllRun> => {
    const launched = withRest(reason)
    await hooks.save(launched)
    const runIds = hooks.toReevaluate(launched)
    const reevaluation = await reevaluate(request.experiment, runIds, workspace, places.baseline, hooks)
    await hooks.save(launched, reevaluation)
    return { launched, reevaluation, problem: null }
  }
  const keptOf = (run: PlannedRun) => kept.find(({ outcome }) => outcome.run.id === run.id)
  const stopBefore = (run: PlannedRun): NotRunReason | null => {
    if (hooks.cancelled.aborted || hooks.standing(done).counting.some(isFailedWarmUp)) return 'stopped'
    return hooks.isFit || keptOf(run) ? null : 'unfit'
  }
  try {
    for (const [index, run] of plan.entries()) {
      const stop = stopBefore(run)
      if (stop !== null) return await end(stop)
      if (followsLook(request.experiment, plan, index)) {
        if (hooks.isDecided(withRest('decided'))) return await end('decided')
        if (!fitsBudget(request.experiment, plan, index, done.flatMap(timedRun))) return await end('budget')
      }
      await perform(run)
      for (const repeat of hooks.standing(done).due) {
        const stop = stopBefore(repeat)
        if (stop !== null) return await end(stop)
        await perform(repeat)
      }
    }
    return await end('stopped')
  } catch (error) {
    // A full disk or a bug of ours: what is measured is still worth its report.
    return { launched: withRest('stopped'), reevaluation: NOT_REEVALUATED, problem: asError(error) }
  }

  async function perform(run: PlannedRun): Promise<void> {
    const earlier = keptOf(run)
    hooks.progress.runStarted(run, earlier !== undefined)
    const launched = earlier ?? (await launchAndRead(run))
    done.push(launched)
    hooks.progress.runEnded(launched.outcome)
    await hooks.machine.recall(run.id, workspace.runFiles(run).machineFile)
    await hooks.save(withRest('stopped'))
  }

  async function launchAndRead(run: PlannedRun): Promise<Launched> {
    const launch = await launchRun(request, run, workspace, places[run.variant], hooks)
    const outcome = outcomeOf(run, launch, await readMetricsFile(workspace.runFiles(run).metricsFile))
    return { launch, outcome }
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function isFailedWarmUp({ outcome }: Launched): boolean {
  return outcome.status === 'failed' && outcome.run.purpose === 'warm-up'
}

function timedRun({ outcome }: Launched): TimedRun[] {
  return outcome.status === 'finished' ? [{ run: outcome.run, wallSeconds: outcome.wallSeconds }] : []
}

async function launchRun(
  { experiment, configs }: Request,
  run: PlannedRun,
  workspace: Workspace,
  { workingDirectory, python }: VariantPlace,
  { cancelled, progress, machine, onStart }: RunHooks,
): Promise<LaunchRecord> {
  const files = await workspace.prepareRun(run, configs[run.variant])
  const caches = cacheVariables(workspace.cacheDirectory(run.variant))
  const named = { ...experiment.launch.env, ...experiment.variants[run.variant].env }
  const isOurs = Object.keys(caches).every((name) => !Object.hasOwn(named, name))
  const cacheState = await watchCache(workspace.cacheDirectory(run.variant))
  const startedAt = new Date().toISOString()
  const ended = new AbortController()
  await using sampler = await machine.watch(files.machineFile)
  // The live view is a courtesy: no trouble of it ends a training.
  const watched = watchMetrics(files, [progress, sampler], ended.signal).catch(() => {})
  try {
    const result = await supervise(
      {
        command: torchrunCommand(experiment, run, files, python),
        workingDirectory,
        environment: trainerEnvironment(process.env, {
          ...caches,
          ...named,
        }),
        logFile: files.logFile,
        timeoutSeconds: experiment.launch.timeout_minutes * 60,
        python: pythonPath(python, workingDirectory),
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
    return { runId: run.id, startedAt, result, errors: await readErrors(files, result), compileCache }
  } finally {
    ended.abort()
    await watched
  }
}

/** A rank that fails before its training starts leaves no error file, but its log has an exception. */
async function readErrors(files: RunFiles, result: LaunchEnd): Promise<readonly RankFailure[]> {
  const errors = await readErrorFiles(files.errorDirectory)
  const failed = result.status === 'exited' && result.exitCode !== 0
  if (errors.length > 0 || !failed) return errors
  const fromLog = await readLogError(files.logFile)
  return fromLog === null ? [] : [fromLog]
}

interface Follower {
  event(event: MetricsEvent): void
  /** Called at each look at the file. */
  tick(): void
}

/** Feeds the live view and the sampler from the metrics file while it grows. What is wrong with it is said after the run. */
async function watchMetrics(
  { metricsFile }: RunFiles,
  followers: readonly Follower[],
  ended: AbortSignal,
): Promise<void> {
  const tail = new FileTail(metricsFile)
  const look = async () => {
    for (const line of await tail.read()) {
      const event = parseEvent(line)
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

function parseEvent(line: string) {
  try {
    return metricsEvent.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
