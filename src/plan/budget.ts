// On the way through a plan: which runs wait for a look, and whether the budget reaches the next look.
import type { Experiment } from '../config/experiment.ts'
import { sumOf } from '../statistics/averages.ts'
import { estimateSeconds, meanWallSeconds, type WallSeconds } from './estimate.ts'
import { looksOf, mayPassAt } from './looks.ts'
import { isMeasured, type PlannedRun } from './plan.ts'

/** True for the first run of a block that is only run if the look before it did not decide. */
export function followsLook(experiment: Experiment, plan: readonly PlannedRun[], index: number): boolean {
  const [before, run] = [plan[index - 1], plan[index]]
  if (!before || !run || !isMeasured(before) || before.block === run.block) return false
  return looksOf(experiment).includes(before.block)
}

/** Do the runs up to the next look fit into what is left of the budget? Without a budget everything does. */
export function fitsBudget(
  experiment: Experiment,
  plan: readonly PlannedRun[],
  index: number,
  finished: WallSeconds,
): boolean {
  const { gpu_minutes: budget } = experiment.design
  if (budget === undefined) return true
  const done = plan[index - 1]?.block ?? 0
  const nextLook = looksOf(experiment).find((blocks) => blocks > done) ?? done
  const upToLook = plan.slice(index).filter((run) => isMeasured(run) && run.block <= nextLook)
  const spent = sumOf([...finished.values()])
  const wanted = estimateSeconds(upToLook, meanWallSeconds(finished)) ?? 0
  return gpuMinutes(experiment, spent + wanted) <= budget
}

export interface OverBudget {
  /** Of the first look that can pass. */
  readonly blocks: number
  readonly gpuMinutes: number
}

/** What the first look that can pass would take by launches of earlier results; null where it fits, or where there is no earlier result. */
export function overBudgetToPass(
  experiment: Experiment,
  plan: readonly PlannedRun[],
  earlier: WallSeconds,
): OverBudget | null {
  const { gpu_minutes: budget, looks, warm_up_set } = experiment.design
  const first = looks.findIndex(mayPassAt)
  const blocks = looks[first]?.blocks
  // The first look is begun whatever it takes.
  if (budget === undefined || blocks === undefined || first === 0) return null
  // Warm-up launches with settings of their own are shorter than the earlier launches tell.
  const isCounted = (run: PlannedRun) => (isMeasured(run) ? run.block <= blocks : warm_up_set === undefined)
  const seconds = estimateSeconds(plan.filter(isCounted), meanWallSeconds(earlier))
  if (seconds === null || gpuMinutes(experiment, seconds) <= budget) return null
  return { blocks, gpuMinutes: gpuMinutes(experiment, seconds) }
}

function gpuMinutes({ launch: { nodes, nproc_per_node } }: Experiment, seconds: number): number {
  return (seconds / 60) * nodes * nproc_per_node
}
