// Climbs a ladder in one sitting: one launch after the other, each kept, until all is measured or the time is up.
import { lstat, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { disturbanceOf } from '../../judge/disturbance.ts'
import { outcomeOf, type RunOutcome } from '../../measure/outcome.ts'
import type { PlannedLaunch } from '../../plan/ladder.ts'
import { launchRun, type RunHooks } from '../launch-run.ts'
import type { ExaminedMachine } from '../machine/take-machine.ts'
import { readMetricsFile } from '../metrics-reader.ts'
import type { RunFiles, Workspace } from '../workspace.ts'
import { type KeptLaunch, metricsLines } from './ladder-file.ts'
import type { Resolved } from './resolve-ladder.ts'

export interface ClimbHooks extends RunHooks {
  readonly machine: ExaminedMachine
  /** Index of the sitting. */
  readonly sitting: number
  /** Of `performance.now()`; Infinity without a limit. */
  readonly deadlineMilliseconds: number
  /** Called after each launch with all of them so far, so that a kill loses nothing. */
  readonly save: (launches: readonly KeptLaunch[]) => Promise<void>
}

/** What ends a training, reads it and writes the report takes at most this long. */
const CLOSING_MILLISECONDS = 15_000
/** A timer takes no more. */
const LONGEST_TIMER_MILLISECONDS = 2 ** 31 - 1

/** `before`: launches of earlier sittings. A baseline that fails ends the sitting: nothing could be compared with it. */
export async function climb(
  planned: readonly PlannedLaunch<Resolved>[],
  before: readonly KeptLaunch[],
  workspace: Workspace,
  hooks: ClimbHooks,
): Promise<void> {
  const launches = [...before]
  const closing = planned.at(-1)
  const isBaseline = (one: PlannedLaunch<Resolved> | undefined) => one?.training === closing?.training
  for (const [index, next] of planned.entries()) {
    if (closing === undefined || hooks.cancelled.aborted) return
    if (!fits(isBaseline(next) ? [next] : [next, closing])) {
      const wantsClosing = index > 0 && !isBaseline(planned[index - 1])
      if (wantsClosing && fits([closing])) await perform(closing)
      return
    }
    const outcome = await perform(next)
    if (isBaseline(next) && outcome.status !== 'finished') return
  }

  async function perform(next: PlannedLaunch<Resolved>): Promise<RunOutcome> {
    hooks.progress.runStarted(next.run)
    const kept = await launch(next, workspace, hooks)
    launches.push(kept)
    hooks.progress.runEnded(kept.launched.outcome)
    await hooks.save(launches)
    return kept.launched.outcome
  }

  /** By what launches of the same training took, or, of a new one, all. One that takes longer is cut. */
  function fits(wanted: readonly PlannedLaunch<Resolved>[]): boolean {
    const expected = wanted.map(({ training }) => {
      const known = launches.filter((one) => one.training === training.hash)
      return meanWallSeconds(known) ?? meanWallSeconds(launches) ?? 0
    })
    const milliseconds = expected.reduce((total, seconds) => total + seconds * 1000, 0)
    return performance.now() + milliseconds + CLOSING_MILLISECONDS <= hooks.deadlineMilliseconds
  }
}

async function launch(
  { run, training }: PlannedLaunch<Resolved>,
  workspace: Workspace,
  hooks: ClimbHooks,
): Promise<KeptLaunch> {
  const { experiment, place, config, hash } = training
  // What a killed call left of this launch would be taken for its own.
  await workspace.setAside([run])
  const files = await workspace.prepareRun(run, config)
  const cacheDirectory = workspace.cacheDirectory(run.variant)
  const resultsDirectory = workspace.directory
  const cut = cutAt(hooks.deadlineMilliseconds - CLOSING_MILLISECONDS)
  const cancelled = AbortSignal.any([hooks.cancelled, ...cut])
  const record = await launchRun(
    { experiment, run, files, cacheDirectory, resultsDirectory, place },
    { ...hooks, cancelled },
  )
  const outcome = outcomeOf(run, record, await readMetricsFile(files.metricsFile))
  const launched = { launch: record, outcome }
  await hooks.machine.recall(run.id, files.machineFile)
  const disturbance = disturbanceOf(launched, hooks.machine.seen.records.get(run.id))
  const metrics = await metricsLines(files.metricsFile)
  await removeCheckpoints(files)
  return { sitting: hooks.sitting, training: hash, launched, disturbance, metrics }
}

/** Of those that finished; null if none did. */
function meanWallSeconds(launches: readonly KeptLaunch[]): number | null {
  const seconds = launches.flatMap(({ launched: { outcome } }) =>
    outcome.status === 'finished' ? [outcome.wallSeconds] : [],
  )
  return seconds.length === 0 ? null : seconds.reduce((total, one) => total + one, 0) / seconds.length
}

/** Some trainings take longer than any before: they are cut, and measured in a later sitting. */
function cutAt(milliseconds: number): AbortSignal[] {
  if (!Number.isFinite(milliseconds)) return []
  const left = Math.max(0, Math.floor(milliseconds - performance.now()))
  return [AbortSignal.timeout(Math.min(left, LONGEST_TIMER_MILLISECONDS))]
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
