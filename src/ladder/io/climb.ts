// Climbs a ladder in one sitting: one launch after the other, each kept, until all is measured or the time is up.
import { lstat, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Workspace } from '../../io/folder/workspace.ts'
import type { ExaminedMachine } from '../../io/machine/take-machine.ts'
import { launchRun, type RunHooks } from '../../io/run/launch-run.ts'
import { timerMilliseconds } from '../../io/system/timer.ts'
import { disturbanceOf } from '../../judge/machine/disturbance.ts'
import type { RunOutcome } from '../../measure/outcome.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import type { RunFiles } from '../../plan/torchrun.ts'
import { meanOf, sumOf } from '../../statistics/averages.ts'
import { ladderRun, launchId, nextTraining } from '../plan.ts'
import type { TrainingHash } from '../record.ts'
import { type KeptLaunch, metricsLines } from './ladder-file.ts'
import type { ResolvedTraining } from './resolve-trainings.ts'

/** What is to be measured, in its order. */
export interface Due {
  readonly baseline: ResolvedTraining
  readonly trainings: readonly ResolvedTraining[]
}

export interface ClimbHooks extends RunHooks {
  readonly machine: ExaminedMachine
  /** Index of the sitting. */
  readonly sitting: number
  readonly baselineEvery: number
  /** Of `performance.now()`; Infinity without a limit. */
  readonly deadlineMilliseconds: number
  /** Asked before each launch, since a failure may change what comes after it. */
  readonly dueAfter: (launches: readonly KeptLaunch[]) => Promise<Due>
  /** Called after each launch with all of them so far, so that a kill loses nothing. */
  readonly save: (launches: readonly KeptLaunch[]) => Promise<unknown>
}

export interface Climb {
  /** Those of earlier sittings too. */
  readonly launches: readonly KeptLaunch[]
  /** For a baseline, or for the next launch and the baseline after it. */
  readonly hasEndedForTime: boolean
}

/** What ends a training, reads it and writes the report takes at most this long. */
const CLOSING_MILLISECONDS = 15_000

/** `before`: launches of earlier sittings. A baseline that fails ends the sitting: nothing could be compared with it. */
export async function climb(
  before: readonly KeptLaunch[],
  workspace: Workspace,
  hooks: ClimbHooks,
): Promise<Climb> {
  const launches = [...before]
  const done: TrainingHash[] = []
  while (!hooks.cancelled.aborted && lostLock(hooks) === null) {
    const { baseline, trainings } = await hooks.dueAfter(launches)
    // What was cut or disturbed in this sitting is for the next.
    const due = trainings.map(({ hash }) => hash).filter((hash) => !done.includes(hash))
    const hash = nextTraining(baseline.hash, due, done, hooks.baselineEvery)
    if (hash === null) return ended(false)
    const next = trainings.find((one) => one.hash === hash) ?? baseline
    if (next === baseline) {
      if (!fits([baseline])) return ended(true)
      const { status } = await perform(baseline, true)
      if (status !== 'finished') return ended(status === 'cancelled' && !hooks.cancelled.aborted)
    } else if (fits([next, baseline])) {
      await perform(next, false)
    } else {
      if (done.at(-1) !== baseline.hash && fits([baseline])) await perform(baseline, true)
      return ended(true)
    }
  }
  return ended(false)

  function ended(hasEndedForTime: boolean): Climb {
    return { launches, hasEndedForTime }
  }

  async function perform(training: ResolvedTraining, isBaseline: boolean): Promise<RunOutcome> {
    const id = launchId(hooks.sitting, done.length, training.title)
    const run = ladderRun(id, isBaseline, hooks.sitting, training.experiment.design.seed)
    hooks.progress.runStarted(run)
    const kept = await launch(run, training, workspace, hooks)
    launches.push(kept)
    done.push(training.hash)
    hooks.progress.runEnded(kept.launched.outcome)
    await hooks.save(launches)
    return kept.launched.outcome
  }

  /** By what launches of the same training took, or, of a new one, all. One that takes longer is cut. */
  function fits(trainings: readonly ResolvedTraining[]): boolean {
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
  hooks: ClimbHooks,
): Promise<KeptLaunch> {
  // What a killed call left of this launch would be taken for its own.
  await workspace.setAside([run])
  const cut = cutAt(hooks.deadlineMilliseconds - CLOSING_MILLISECONDS)
  const cancelled = AbortSignal.any([hooks.cancelled, ...cut])
  const launched = await launchRun(run, training, workspace, { ...hooks, cancelled })
  const files = workspace.runFiles(run)
  await hooks.machine.recall(run.id, files.machineFile)
  const disturbance = lostLock(hooks) ?? disturbanceOf(launched, hooks.machine.seen.records.get(run.id))
  const metrics = await metricsLines(files.metricsFile)
  await removeCheckpoints(files)
  return { sitting: hooks.sitting, training: training.hash, launched, disturbance, metrics }
}

/** Null while it is held: without it another experiment may run beside ours. */
function lostLock({ machine: { seen } }: ClimbHooks): string | null {
  const lock = seen.preflight?.lock
  return lock?.status === 'lost' ? `the lock was lost: ${lock.reason}` : null
}

/** Of those that finished; null if none did. */
function meanWallSeconds(launches: readonly KeptLaunch[]): number | null {
  const seconds = launches.flatMap(({ launched: { outcome } }) =>
    outcome.status === 'finished' ? [outcome.wallSeconds] : [],
  )
  return seconds.length === 0 ? null : meanOf(seconds)
}

/** Some trainings take longer than any before: they are cut, and measured in a later sitting. */
function cutAt(milliseconds: number): AbortSignal[] {
  if (!Number.isFinite(milliseconds)) return []
  const left = Math.max(0, Math.floor(milliseconds - performance.now()))
  return [AbortSignal.timeout(timerMilliseconds(left))]
}

/** Beside its log and metrics, what a training leaves that is larger is a checkpoint, which nobody evaluates again. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024

async function removeCheckpoints({ outDirectory, ...own }: RunFiles): Promise<void> {
  const names = await readdir(outDirectory)
  const ours = [own.configFile, own.logFile, own.metricsFile, own.machineFile, own.errorDirectory].map(
    (path) => basename(path),
  )
  for (const name of names.filter((one) => !ours.includes(one))) {
    const path = join(outDirectory, name)
    const status = await lstat(path)
    if (!status.isFile() || status.size > MAX_KEPT_BYTES) await rm(path, { recursive: true, force: true })
  }
}
