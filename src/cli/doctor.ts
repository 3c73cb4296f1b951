// speedproof doctor: reports what is missing on this machine for an experiment.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { examine } from '../io/machine/doctor.ts'
import { cancelOnSignals } from '../io/system/cancel.ts'
import { isReady } from '../judge/machine/doctor.ts'
import { renderDoctor } from '../report/doctor.ts'
import { EXIT_BAD_INPUT } from './exit-code.ts'
import { type Flags, overridesOf, relativeToHere, withOverrides } from './options.ts'

export function addDoctor(program: Command): void {
  const command = program.command('doctor').argument('[experiment]', 'experiment file')
  withOverrides(command, ['python', 'nproc-per-node'])
    .description('say what is missing on this machine for an experiment, and how to fix it')
    .option('--out <folder>', 'folder for results', 'out')
    .action(doctor)
}

async function doctor(experiment: string | undefined, flags: Flags): Promise<void> {
  const findings = await examine({
    experimentFile: experiment === undefined ? null : relativeToHere(experiment),
    workingDirectory: process.cwd(),
    outDirectory: resolve(flags.out),
    overrides: overridesOf(flags),
    cancelled: cancelOnSignals(),
  })
  console.log(renderDoctor(findings))
  process.exitCode = isReady(findings) ? 0 : EXIT_BAD_INPUT
}
