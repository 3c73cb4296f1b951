// speedproof cloud stop: takes the machine of this workflow run down, and waits until it is gone.
import type { Command } from 'commander'
import { positiveDecimal } from '../../config/overrides/overrides.ts'
import { stopMachine } from '../../io/cloud/stop-machine.ts'
import { printNote } from '../print.ts'
import { openDstack, ownMachineName } from './options.ts'

/** The workflow's last job has ten minutes. */
export const WAIT_MINUTES = '8'

export function addCloudStop(cloud: Command): void {
  cloud
    .command('stop')
    .description('in a workflow: take its machine down, and wait until it is gone')
    .option('--leg <word>', 'as for start', '')
    .option('--wait-minutes <minutes>', 'how long to wait for the end', WAIT_MINUTES)
    .action(stop)
}

async function stop(flags: { leg: string; waitMinutes: string }): Promise<void> {
  const waitMinutes = positiveDecimal('wait-minutes', flags.waitMinutes)
  await stopMachine(ownMachineName(flags.leg), { dstack: openDstack(), waitMinutes, note: printNote })
}
