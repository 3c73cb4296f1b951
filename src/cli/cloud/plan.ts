// speedproof cloud plan: what a rented machine costs at most, and what the experiment is expected to; starts nothing.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { machineName } from '../../cloud/names.ts'
import { type Expected, renderCloudPlan } from '../../cloud/plan-text.ts'
import { runSpec } from '../../cloud/request.ts'
import { refuseServer } from '../../io/cloud/start-machine.ts'
import { earlierTimes, Workspace } from '../../io/folder/workspace.ts'
import { loadAll } from '../../io/load/load-all.ts'
import type { Loaded } from '../../io/load/load-experiment.ts'
import { cancelOnSignals } from '../../io/system/cancel.ts'
import { estimateSeconds, meanWallSeconds } from '../../plan/estimate.ts'
import { isMeasured, planRuns } from '../../plan/plan.ts'
import { inputsOf } from '../options.ts'
import { printNote } from '../print.ts'
import { openDstack, type WishFlags, wishOf, withWish } from './options.ts'

export function addCloudPlan(cloud: Command): void {
  withWish(cloud.command('plan').argument('[experiments...]', 'experiment files, for the expected cost'))
    .description('print what a machine would cost at most, and its offers; starts nothing')
    .option('--out <folder>', 'folder with earlier results, for the expected cost', 'out')
    .action(plan)
}

async function plan(experiments: readonly string[], flags: WishFlags & { out: string }): Promise<void> {
  const wish = wishOf(flags)
  const dstack = openDstack()
  await refuseServer(wish, dstack)
  const expected = experiments.length === 0 ? [] : await expectedOf(experiments, flags.out)
  const name = machineName({ runId: 0, attempt: 0, leg: '' })
  console.log(renderCloudPlan(wish, await dstack.offers(runSpec(name, wish, null)), expected))
}

async function expectedOf(experiments: readonly string[], out: string): Promise<(Expected | string)[]> {
  await using questions = await loadAll({
    ...inputsOf(experiments, { out }),
    outDirectory: resolve(out),
    cancelled: cancelOnSignals(),
    note: printNote,
    onWorktree: () => {},
  })
  return await Promise.all(questions.loaded.map(expectedOfOne))
}

async function expectedOfOne({ directory, request }: Loaded): Promise<Expected | string> {
  const earlier = await earlierTimes(new Workspace(directory), request)
  const seconds = estimateSeconds(planRuns(request.experiment), meanWallSeconds(earlier))
  const { name } = request.experiment
  if (seconds === null) return name
  return { name, seconds, earlierLaunches: [...earlier.keys()].filter(isMeasured).length }
}
