// speedproof plan: checks everything and prints what would run.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { OVERRIDE_NAMES } from '../config/overrides/overrides.ts'
import { earlierTimes, Workspace } from '../io/folder/workspace.ts'
import { loadAll } from '../io/load/load-all.ts'
import { cancelOnSignals } from '../io/system/cancel.ts'
import { planRuns } from '../plan/plan.ts'
import { renderPlan } from '../report/plan-text.ts'
import { DEFAULT_EXPERIMENT, type Flags, inputsOf, orDefaultExperiment, withOverrides } from './options.ts'
import { printNote } from './print.ts'

export function addPlan(program: Command): void {
  const command = program
    .command('plan')
    .argument('[experiments...]', `experiment files (default: ${DEFAULT_EXPERIMENT})`)
  withOverrides(command, OVERRIDE_NAMES)
    .description('check everything and print what would run, and for how long')
    .option('--out <folder>', 'folder with earlier results, for the estimate', 'out')
    .action(printPlans)
}

async function printPlans(experiments: readonly string[], flags: Flags): Promise<void> {
  await using questions = await loadAll({
    ...inputsOf(orDefaultExperiment(experiments), flags),
    outDirectory: resolve(flags.out),
    cancelled: cancelOnSignals(),
    note: printNote,
    onWorktree: () => {},
  })
  for (const loaded of questions.loaded) {
    const { request } = loaded
    const workspace = new Workspace(loaded.directory)
    const plan = planRuns(request.experiment)
    console.log(`${renderPlan(loaded, plan, workspace, await earlierTimes(workspace, request))}\n`)
  }
}
