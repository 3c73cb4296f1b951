// What to do next in an experiment: launch, repeat, evaluate or stop. Every decision of the run loop is made here.
import { type Experiment, VARIANTS } from '../config/experiment.ts'
import type { Watched } from '../measure/machine-record.ts'
import type { Launched, NotRunReason } from '../measure/outcome.ts'
import type { RunSummary } from '../measure/summary.ts'
import { fitsBudget, followsLook } from '../plan/budget.ts'
import type { WallSeconds } from '../plan/estimate.ts'
import type { PlannedRun } from '../plan/plan.ts'
import { runsToReevaluate } from './checks/reevaluation.ts'
import { earlyStop } from './early-stop.ts'
import { isFutile } from './looks/chance.ts'
import { isFit } from './machine/machine.ts'
import type { MachineCheck } from './machine/machine-check.ts'
import { sortAttempts } from './repeat.ts'
import { isDecided, type Verdict } from './verdict.ts'

/** What is known of an experiment before its next step. */
export interface RunState {
  readonly experiment: Experiment
  readonly plan: readonly PlannedRun[]
  /** Launches in their order, with those of before `--resume` that the plan has reached again. */
  readonly done: readonly Launched[]
  /** All launches of before `--resume`. */
  readonly kept: readonly Launched[]
  readonly watched: Watched
  readonly isCancelled: boolean
  /** Why the plan ended, once the checkpoints are evaluated. */
  readonly evaluatedAfter: NotRunReason | null
  /** The result, were the plan to end here for this reason. */
  readonly judgedAs: (reason: NotRunReason) => Judged
}

export interface Judged {
  readonly runs: readonly RunSummary[]
  readonly machineChecks: readonly MachineCheck[]
  readonly verdict: Verdict
}

export type Step =
  | { readonly status: 'launch' | 'repeat'; readonly run: PlannedRun }
  /** The plan has ended for this reason; the final checkpoints of these runs are to be evaluated. */
  | { readonly status: 'evaluate'; readonly runIds: readonly string[]; readonly reason: NotRunReason }
  | { readonly status: 'stop'; readonly reason: NotRunReason }

/**
 * Repeats come first. A launch that is kept is never left out, whatever would be decided now. A failed warm-up launch
 * ends the plan, and so do first warm-up launches that cannot be compared, and a block with a failed launch, whose runs
 * no further one can make comparable, or without a number that a required gate judges: nothing after it could pass.
 */
export function nextStep(state: RunState): Step {
  const { plan, done, evaluatedAfter } = state
  if (evaluatedAfter !== null) return { status: 'stop', reason: evaluatedAfter }
  const { due, counting } = sortAttempts(done, state.watched)
  const [repeat] = due
  if (repeat !== undefined) {
    const reason = stopBefore(repeat, counting, state)
    return reason === null ? { status: 'repeat', run: repeat } : end(reason, state)
  }
  const index = plan.findIndex((run) => !isIn(done, run))
  const run = plan[index]
  if (run === undefined) return end('stopped', state)
  const reason = stopBefore(run, counting, state) ?? endBefore(run, index, state)
  return reason === null ? { status: 'launch', run } : end(reason, state)
}

/** Why neither a run nor a repeat may start; null if it may. */
function stopBefore(
  run: PlannedRun,
  counting: readonly Launched[],
  { experiment, kept, isCancelled, watched }: RunState,
): NotRunReason | null {
  if (isIn(kept, run)) return null
  if (isCancelled) return 'stopped'
  if (counting.some(isFailedWarmUp)) return 'failed'
  return isFit(experiment, watched.preflight) ? null : 'unfit'
}

/** Why the plan ends before this run of it; null if it goes on. */
function endBefore(
  run: PlannedRun,
  index: number,
  { experiment, plan, done, kept, judgedAs }: RunState,
): NotRunReason | null {
  if (isIn(kept, run)) return null
  // Half a block may still be set aside, for what the machine did to it.
  const isWhole = index === VARIANTS.length || beginsBlock(run, plan[index - 1])
  const early = isWhole ? earlyStop(judgedAs('stopped')) : null
  if (early !== null || !followsLook(experiment, plan, index)) return early
  const { verdict } = judgedAs('decided')
  if (isDecided(verdict)) return 'decided'
  if (isFutile(experiment, verdict, plan[index - 1]?.block ?? 0)) return 'futile'
  return fitsBudget(experiment, plan, index, wallSecondsOf(done)) ? null : 'budget'
}

function end(reason: NotRunReason, { experiment, judgedAs }: RunState): Step {
  const runIds = runsToReevaluate({ ...judgedAs(reason), experiment })
  return runIds.length > 0 ? { status: 'evaluate', runIds, reason } : { status: 'stop', reason }
}

function wallSecondsOf(done: readonly Launched[]): WallSeconds {
  return new Map(
    done.flatMap(({ outcome }) =>
      outcome.status === 'finished' ? [[outcome.run, outcome.wallSeconds] as const] : [],
    ),
  )
}

function isIn(launched: readonly Launched[], { id }: PlannedRun): boolean {
  return launched.some(({ outcome }) => outcome.run.id === id)
}

function beginsBlock({ block }: PlannedRun, before: PlannedRun | undefined): boolean {
  return before !== undefined && block !== before.block
}

function isFailedWarmUp({ outcome }: Launched): boolean {
  return outcome.status === 'failed' && outcome.run.purpose === 'warm-up'
}
