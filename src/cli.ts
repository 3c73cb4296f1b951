#!/usr/bin/env node
// The command line: the same stages behind a few words.
import './io/system/require-node.ts'

import { Command } from 'commander'
import { addAnalyze } from './cli/analyze.ts'
import { addCheck } from './cli/check.ts'
import { addCloud } from './cli/cloud/cloud.ts'
import { addCloudPlan } from './cli/cloud/plan.ts'
import { addDoctor } from './cli/doctor.ts'
import { exitCodeOf } from './cli/exit-code.ts'
import { addInit } from './cli/init.ts'
import { addLadder } from './cli/ladder.ts'
import { addPlan } from './cli/plan.ts'
import { printRestart } from './cli/print.ts'
import { addReport } from './cli/report.ts'
import { addRun } from './cli/run.ts'
import { addTry } from './cli/try.ts'
import { ResumeError } from './errors.ts'
import { exitPrinted, outliveReaders } from './io/system/exit-printed.ts'
import { packageVersion } from './io/system/package-root.ts'

const program = new Command('speedproof')
  .description('Proves that a PyTorch training got faster and its model no worse.')
  .version(packageVersion())
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()

// In the order of the help.
for (const addCommand of [
  addInit,
  addTry,
  addRun,
  addPlan,
  addAnalyze,
  addReport,
  addLadder,
  addCheck,
  addDoctor,
  addCloudWithPlan,
])
  addCommand(program)

function addCloudWithPlan(to: Command): void {
  addCloud(to, addCloudPlan)
}

outliveReaders()
try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  if (error instanceof ResumeError) printRestart()
}
await exitPrinted()
