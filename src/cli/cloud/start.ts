// speedproof cloud start: rents the machine of this workflow run; the label of its runner is the step's output.
import type { Command } from 'commander'
import { ConfigError } from '../../errors.ts'
import { RunnerRegistry } from '../../io/cloud/runner.ts'
import { startMachine } from '../../io/cloud/start-machine.ts'
import { setInCommandFile } from '../../io/github/command-files.ts'
import { readWorkflowRun } from '../../io/github/event/event.ts'
import { cancelOnSignals } from '../../io/system/cancel.ts'
import { printNote } from '../print.ts'
import { needed, openDstack, ownMachineName, type WishFlags, wishOf, withWish } from './options.ts'

export function addCloudStart(cloud: Command): void {
  withWish(cloud.command('start'))
    .description('in a workflow: rent a machine, as a runner for one job')
    .option('--leg <word>', 'tells the legs of a matrix apart', '')
    .action(start)
}

async function start(flags: WishFlags & { leg: string }): Promise<void> {
  const cancelled = cancelOnSignals()
  const wish = wishOf(flags)
  const name = ownMachineName(flags.leg)
  const registry = new RunnerRegistry(
    needed(process.env, 'SPEEDPROOF_RUNNER_TOKEN', 'a token with Administration: write on this repository'),
    ownRepository(),
  )
  // Written before anything is rented: the stop job needs nothing else.
  setInCommandFile('OUTPUT', 'runner', JSON.stringify([name]))
  await startMachine(name, wish, { dstack: openDstack(), registry, cancelled, note: printNote })
  printNote(`runner ${name} waits for its job`)
}

/** A fork's code runs on no machine that this repository pays for. */
function ownRepository() {
  const reading = readWorkflowRun()
  if (reading.status === 'not-in-a-workflow') throw new ConfigError(reading.reason)
  if (reading.status === 'without-event' || reading.run.isOfFork)
    throw new ConfigError(
      "cloud start: expected an event of this repository's own, but this one is of a fork, or cannot be read. No machine is rented for it",
    )
  return { owner: reading.run.owner, repo: reading.run.repo }
}
