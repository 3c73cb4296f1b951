#!/usr/bin/env node
// The command line: the same stages behind a few words. Each command is a file of cli/.
import './io/system/require-node.ts'

import { Command } from 'commander'
import { addAnalyze } from './cli/analyze.ts'
import { addDoctor } from './cli/doctor.ts'
import { exitCodeOf } from './cli/exit-code.ts'
import { addLadder } from './cli/ladder.ts'
import { callAgain } from './cli/options.ts'
import { addPlan } from './cli/plan.ts'
import { addReport } from './cli/report.ts'
import { addRun } from './cli/run.ts'
import { ResumeError } from './errors.ts'
import { exitPrinted, outliveReaders } from './io/system/exit-printed.ts'
import { packageVersion } from './io/system/package-root.ts'

const program = new Command('speedproof')
  .description('Proves that a PyTorch training got faster and its model no worse.')
  .version(packageVersion())
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()
// In the order of --help.
for (const add of [addRun, addPlan, addAnalyze, addReport, addLadder, addDoctor]) add(program)

outliveReaders()
try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  if (error instanceof ResumeError)
    console.error(`To start without --resume: ${callAgain(process.argv.slice(2), 'start')}`)
}
await exitPrinted()
