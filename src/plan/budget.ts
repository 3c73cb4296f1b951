// On the way through a plan: which runs wait for a look, and whether the budget reaches the next look.
import type { Experiment } from '../config/experiment.ts'
import { sumOf } from '../statistics/averages.ts'
import { estimateSeconds, meanWallSeconds, type WallSeconds } from './estimate.ts'
import { looksOf } from './looks.ts'
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
  const { nnodes, nproc_per_node } = experiment.launch
  return ((spent + wanted) / 60) * nnodes * nproc_per_node <= budget
}
