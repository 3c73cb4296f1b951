// Launches the remaining trainings of a ladder, one after the other, each saved, until all are measured or time is up.
import { lstat, readdir, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Workspace } from '../../io/folder/workspace.ts'
import { keptMetrics } from '../../io/load/read-run-files.ts'
import type { ExaminedMachine } from '../../io/machine/take-machine.ts'
import { launchRun, type RunHooks } from '../../io/run/launch-run.ts'
import { timerMilliseconds } from '../../io/system/timer.ts'
import { disturbanceOf } from '../../judge/machine/disturbance.ts'
import type { RunOutcome } from '../../measure/outcome.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import type { RunFiles } from '../../plan/torchrun.ts'
import { readerOf, SOURCE_FILES } from '../../read/readers.ts'
import { meanOf, sumOf } from '../../statistics/averages.ts'
import { ladderRun, launchId, nextTraining } from '../plan.ts'
import type { TrainingHash } from '../record.ts'
import type { RecordedLaunch } from './ladder-file.ts'
import type { ResolvedTraining } from './resolve-trainings.ts'

/** In the order of their launches. */
export interface RemainingTrainings {
  readonly baseline: ResolvedTraining
  readonly trainings: readonly ResolvedTraining[]
}

export interface SittingHooks extends RunHooks {
  readonly machine: ExaminedMachine
  /** Index of the sitting. */
  readonly sitting: number
  readonly baselineEvery: number
  /** Of `performance.now()`; Infinity without a limit. */
  readonly deadlineMilliseconds: number
  /** Asked before each launch, since a failure may change what comes after it. */
  readonly remainingAfter: (launches: readonly RecordedLaunch[]) => Promise<RemainingTrainings>
  /** Called after each launch with all of them so far, so that a kill loses nothing. */
  readonly save: (launches: readonly RecordedLaunch[]) => Promise<void>
}

/** Ending a training, reading its metrics and writing the report takes at most this long. */
const CLOSING_MILLISECONDS = 15_000

export interface SittingLaunches {
  /** Of earlier sittings too. */
  readonly launches: readonly RecordedLaunch[]
  /** There was no time for a baseline, or for the next launch and the baseline after it. */
  readonly isOutOfTime: boolean
}

/** `before`: launches of earlier sittings. A baseline that fails ends the sitting: nothing could be compared with it. */
export async function launchRemaining(
  before: readonly RecordedLaunch[],
  workspace: Workspace,
  hooks: SittingHooks,
): Promise<SittingLaunches> {
  const launches = [...before]
  /** In this sitting. */
  const launched: TrainingHash[] = []
  while (!hooks.cancelled.aborted && lockLoss(hooks) === null) {
    const { baseline, trainings } = await hooks.remainingAfter(launches)
    // What was interrupted or disturbed in this sitting is for the next.
    const remaining = trainings.map(({ hash }) => hash).filter((hash) => !launched.includes(hash))
    const hash = nextTraining(baseline.hash, remaining, launched, hooks.baselineEvery)
    if (hash === null) return end(false)
    const next = trainings.find((one) => one.hash === hash) ?? baseline
    if (next === baseline) {
      if (!hasTimeFor([baseline])) return end(true)
      const { status } = await launchAndSave(baseline, true)
      if (status !== 'finished') return end(status === 'cancelled' && !hooks.cancelled.aborted)
    } else if (hasTimeFor([next, baseline])) {
      await launchAndSave(next, false)
    } else {
      if (launched.at(-1) !== baseline.hash && hasTimeFor([baseline])) await launchAndSave(baseline, true)
      return end(true)
    }
  }
  return end(false)

  function end(isOutOfTime: boolean): SittingLaunches {
    return { launches, isOutOfTime }
  }

  async function launchAndSave(training: ResolvedTraining, isBaseline: boolean): Promise<RunOutcome> {
    const id = launchId(hooks.sitting, launched.length, training.title)
    const run = ladderRun(id, isBaseline, hooks.sitting, training.experiment.design.seed)
    hooks.progress.runStarted(run)
    const kept = await launch(run, training, workspace, hooks)
    launches.push(kept)
    launched.push(training.hash)
    hooks.progress.runEnded(kept.launched.outcome)
    await hooks.save(launches)
    return kept.launched.outcome
  }

  /** Estimated from earlier launches of the same training, else from all launches. One that takes longer is interrupted. */
  function hasTimeFor(trainings: readonly ResolvedTraining[]): boolean {
    const expected = trainings.map(({ hash }) => {
      const known = launches.filter((one) => one.training === hash)
      return meanWallSeconds(known) ?? meanWallSeconds(launches) ?? 0
    })
    const milliseconds = sumOf(expected.map((seconds) => seconds * 1000))
    return performance.now() + milliseconds + CLOSING_MILLISECONDS <= hooks.deadlineMilliseconds
  }
}

async function launch(
  run: PlannedRun,
  training: ResolvedTraining,
  workspace: Workspace,
  hooks: SittingHooks,
): Promise<RecordedLaunch> {
  // What a killed call left of this launch would be taken for its own.
  await workspace.setAside([run])
  const deadline = deadlineSignal(hooks.deadlineMilliseconds - CLOSING_MILLISECONDS)
  const cancelled = AbortSignal.any([hooks.cancelled, ...deadline])
  const launched = await launchRun(run, training, workspace, { ...hooks, cancelled })
  const files = workspace.runFiles(run)
  await hooks.machine.recall(run.id, files.machineFile)
  const disturbance = lockLoss(hooks) ?? disturbanceOf(launched, hooks.machine.seen.records.get(run.id))
  const metrics = await keptMetrics(files.directory, readerOf(training.experiment.metrics))
  await removeCheckpoints(files)
  return { sitting: hooks.sitting, training: training.hash, launched, disturbance, metrics }
}

/** Null while it is held: without it another experiment may run at the same time. */
function lockLoss({ machine: { seen } }: SittingHooks): string | null {
  const lock = seen.preflight?.lock
  return lock?.status === 'lost' ? `the lock was lost: ${lock.reason}` : null
}

/** Of those that finished; null if none did. */
function meanWallSeconds(launches: readonly RecordedLaunch[]): number | null {
  const seconds = launches.flatMap(({ launched: { outcome } }) =>
    outcome.status === 'finished' ? [outcome.wallSeconds] : [],
  )
  return seconds.length === 0 ? null : meanOf(seconds)
}

/** A training that takes longer than expected is interrupted, and measured in a later sitting. */
function deadlineSignal(milliseconds: number): AbortSignal[] {
  if (!Number.isFinite(milliseconds)) return []
  const left = Math.max(0, Math.floor(milliseconds - performance.now()))
  return [AbortSignal.timeout(timerMilliseconds(left))]
}

/** Apart from its metrics, what a training leaves that is larger is a checkpoint, which is not evaluated again. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024

async function removeCheckpoints({ directory, outDirectory }: RunFiles): Promise<void> {
  // A link would lead to files that are not of this run, and a trainer may have removed its folder.
  const found = await lstat(outDirectory).catch(() => null)
  if (!found?.isDirectory()) return
  const names = await readdir(outDirectory)
  for (const name of names) {
    const path = join(outDirectory, name)
    if (SOURCE_FILES.includes(relative(directory, path))) continue
    const status = await lstat(path)
    if (!status.isFile() || status.size > MAX_KEPT_BYTES) await rm(path, { recursive: true, force: true })
  }
}
