// speedproof cloud sweep: takes down every machine of ours that is older than its limit.
import type { Command } from 'commander'
import { positiveDecimal } from '../../config/overrides/overrides.ts'
import { sweepMachines } from '../../io/cloud/sweep-machines.ts'
import { printNote } from '../print.ts'
import { openDstack } from './options.ts'
import { WAIT_MINUTES } from './stop.ts'

export function addCloudSweep(cloud: Command): void {
  cloud
    .command('sweep')
    .description('take down what is older than its limit, and name what may cost on')
    .option('--wait-minutes <minutes>', 'how long to wait for each end', WAIT_MINUTES)
    .action(sweep)
}

async function sweep(flags: { waitMinutes: string }): Promise<void> {
  const waitMinutes = positiveDecimal('wait-minutes', flags.waitMinutes)
  await sweepMachines({ dstack: openDstack(), waitMinutes, note: printNote })
}
