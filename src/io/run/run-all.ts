// Runs the plan: one launch after the other, everything kept, until it is done or cancelled.
import { type Standing, withUnlaunched } from '../../judge/repeat.ts'
import { type Launched, type NotRunReason, outcomeOf } from '../../measure/outcome.ts'
import { NOT_REEVALUATED, type Reevaluation } from '../../measure/reevaluation.ts'
import { fitsBudget, followsLook } from '../../plan/budget.ts'
import type { TimedRun } from '../../plan/estimate.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import { readRunMetrics } from '../load/read-run-files.ts'
import type { Opened } from '../load/resume.ts'
import { launchRun, type RunHooks } from './launch-run.ts'
import { reevaluate } from './reevaluate.ts'

export interface AllHooks extends RunHooks {
  /** Asked before each launch: false when the pre-flight or a lost lock would make every run invalid. */
  readonly isFit: () => boolean
  /** Asked after each launch: which launches count, and which have to be repeated? */
  readonly standing: (soFar: readonly Launched[]) => Standing
  /** Asked after each block: why is no further one worth its time? Null if one may be. */
  readonly earlyStop: (soFar: readonly Launched[]) => NotRunReason | null
  /** Asked at each look: is the verdict clear without further blocks? */
  readonly isDecided: (soFar: readonly Launched[]) => boolean
  /** Asked when all is launched: which runs' final checkpoints are to be evaluated once more? */
  readonly toReevaluate: (launched: readonly Launched[]) => readonly string[]
  /** Called after each launch with all of them so far, so that a kill loses nothing. */
  readonly save: (soFar: readonly Launched[], reevaluation?: Reevaluation) => Promise<void>
}

export interface AllRun {
  /** One entry for each planned run, and for each repeat of one. */
  readonly launched: readonly Launched[]
  readonly reevaluation: Reevaluation
  /** What broke off the plan, thrown once what was measured has been reported; null if nothing did. */
  readonly problem: Error | null
}

/**
 * Those in `kept` are not run again, and none is left out, whatever would be decided now. A failed warm-up launch ends
 * the plan, and so does a block with a failed launch, whose runs no further one can make comparable, or without a
 * number that a required gate judges: nothing after it could pass.
 */
export async function runAll(
  { request, places, configs, workspace, kept }: Opened,
  plan: readonly PlannedRun[],
  hooks: AllHooks,
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
    if (keptOf(run) !== undefined) return null
    if (hooks.cancelled.aborted) return 'stopped'
    if (hooks.standing(done).counting.some(isFailedWarmUp)) return 'failed'
    return hooks.isFit() ? null : 'unfit'
  }
  const endBefore = (run: PlannedRun, index: number): NotRunReason | null => {
    if (keptOf(run) !== undefined) return null
    // Half a block may still be set aside, for what the machine did to it.
    const lost = beginsBlock(run, plan[index - 1]) ? hooks.earlyStop(withRest('stopped')) : null
    if (lost !== null || !followsLook(request.experiment, plan, index)) return lost
    if (hooks.isDecided(withRest('decided'))) return 'decided'
    return fitsBudget(request.experiment, plan, index, done.flatMap(timedRun)) ? null : 'budget'
  }
  try {
    for (const [index, run] of plan.entries()) {
      const stop = stopBefore(run) ?? endBefore(run, index)
      if (stop !== null) return await end(stop)
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
    const files = await workspace.prepareRun(run, configs[run.purpose][run.variant])
    const cacheDirectory = workspace.cacheDirectory(run.variant)
    const resultsDirectory = workspace.directory
    const place = places[run.variant]
    const { experiment } = request
    const launch = await launchRun({ experiment, run, files, cacheDirectory, resultsDirectory, place }, hooks)
    const outcome = outcomeOf(run, launch, await readRunMetrics(files.directory))
    return { launch, outcome }
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function beginsBlock({ block }: PlannedRun, before: PlannedRun | undefined): boolean {
  return before !== undefined && block !== before.block
}

function isFailedWarmUp({ outcome }: Launched): boolean {
  return outcome.status === 'failed' && outcome.run.purpose === 'warm-up'
}

function timedRun({ outcome }: Launched): TimedRun[] {
  return outcome.status === 'finished' ? [{ run: outcome.run, wallSeconds: outcome.wallSeconds }] : []
}
