#!/usr/bin/env node
// The command line: the same stages behind a few words.
import './io/system/require-node.ts'

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { assess } from './assess.ts'
import { EXIT_BAD_INPUT, EXIT_CANCELLED, EXIT_CODES, exitCodeOf } from './cli/exit-code.ts'
import {
  callAgain,
  collected,
  type Flags,
  fromHere,
  overridesOf,
  source,
  withOverrides,
} from './cli/options.ts'
import { OVERRIDE_NAMES, positiveDecimal } from './config/overrides/overrides.ts'
import { parseSetFlags } from './config/overrides/set-flags.ts'
import { ConfigError, ResumeError } from './errors.ts'
import type { CombinedFolder } from './io/folder/combined-folder.ts'
import { earlierTimes, Workspace } from './io/folder/workspace.ts'
import { loadAll } from './io/load/load-all.ts'
import { readRecorded, withGates } from './io/load/read-recorded.ts'
import { examine } from './io/machine/doctor.ts'
import { ProgressView } from './io/run/progress.ts'
import { cancelOnSignals } from './io/system/cancel.ts'
import { exitPrinted, outliveReaders } from './io/system/exit-printed.ts'
import { packageVersion } from './io/system/package-root.ts'
import { plainText } from './io/system/sanitize.ts'
import { isReady } from './judge/machine/doctor.ts'
import { readLadder } from './ladder/io/ladder-file.ts'
import { climbLadder } from './ladder/main.ts'
import { renderLadderTerminal } from './ladder/report.ts'
import { main } from './main.ts'
import { planRuns } from './plan/plan.ts'
import { type Combined, canGoOn, combine } from './record/combined.ts'
import type { Result } from './record/result.ts'
import { renderCombinedMarkdown, renderCombinedTerminal } from './report/combined.ts'
import { renderDoctor } from './report/doctor.ts'
import { renderPlan } from './report/plan-text.ts'

const DEFAULT_EXPERIMENT = 'configs/experiments/smoke.yaml'

const GATES_HELP = `
A file for --gates, which may be another experiment:
  gates:
    speedup: { at_least: 2.5 }
    loss_delta: { below: 0.001, severity: warn }`

interface LadderFlags extends Flags {
  readonly minutes?: string
  readonly retry?: boolean
  readonly set: readonly string[]
  readonly show?: string
  readonly rungs?: string
}

const program = new Command('speedproof')
  .description('Proves that a PyTorch training got faster and its model no worse.')
  .version(packageVersion())
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()

withOverrides(
  program
    .command('run')
    .argument('[experiments...]', `experiment files, one for each question (default: ${DEFAULT_EXPERIMENT})`),
  OVERRIDE_NAMES,
)
  .description('run both variants, compare them and report')
  .option('--out <folder>', 'folder for results', 'out')
  .option('--noise-floors <folder>', 'folder where noise floors are kept, if not the one of the user')
  .option('--resume', 'keep the finished blocks of an interrupted experiment in that folder')
  .action(async (experiments: string[], flags: Flags) => {
    const cancelled = cancelOnSignals()
    const combined = await main(
      {
        ...source(named(experiments), flags),
        outDirectory: resolve(flags.out),
        resume: flags.resume === true,
      },
      {
        cancelled,
        progress: (plan) => new ProgressView(plan, process.stdout, false),
        note: printNote,
        onStart: () => {},
        onWorktree: () => {},
        publish: async (finished, folder) => printCombined(finished, folder),
      },
    )
    if (cancelled.aborted && canGoOn(combined)) printGoingOn()
    process.exitCode = cancelled.aborted ? EXIT_CANCELLED : EXIT_CODES[combined.verdict]
  })

withOverrides(
  program.command('plan').argument('[experiments...]', `experiment files (default: ${DEFAULT_EXPERIMENT})`),
  OVERRIDE_NAMES,
)
  .description('check everything and print what would run, and for how long')
  .option('--out <folder>', 'folder with earlier results, for the estimate', 'out')
  .action(async (experiments: string[], flags: Flags) => {
    await using questions = await loadAll({
      ...source(named(experiments), flags),
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
  })

withOverrides(program.command('analyze').argument('<results...>', 'result.json of each experiment'), [
  'min-speedup',
  'max-loss-delta',
  'price-per-gpu-hour',
])
  .description('recompute the verdict from the recorded metrics; runs nothing')
  .option('--gates <file>', 'take the gates from the top-level gates: of this YAML file instead')
  .addHelpText('after', GATES_HELP)
  .action(async (files: string[], flags: Flags) => {
    const combined = await recomputed(files, flags)
    console.log(renderCombinedTerminal(combined))
    process.exitCode = EXIT_CODES[combined.verdict]
  })

program
  .command('report')
  .argument('<results...>', 'result.json of each experiment')
  .description('print the Markdown report of recorded experiments')
  .action(async (files: string[], flags: Flags) =>
    console.log(renderCombinedMarkdown(await recomputed(files, flags))),
  )

withOverrides(
  program
    .command('ladder')
    .argument('[experiment]', `experiment file with rungs under ladder: (default: ${DEFAULT_EXPERIMENT})`),
  ['python', 'seed', 'nproc-per-node', 'timeout-minutes'],
)
  .description('measure every rung of an experiment, alone and on top of those before it')
  .option('--out <folder>', 'folder for ladder.json, ladder.md and the runs', 'out/ladder')
  .option('--minutes <value>', 'stop before this time is up; --resume goes on')
  .option('--resume', 'keep what is measured in that folder, and measure the rest in a new sitting')
  .option('--retry', 'with --resume, launch again what failed')
  .option(
    '--set <key=value>',
    'set in every launch, such as train.updates=60; may be repeated',
    collected,
    [],
  )
  .option('--rungs <names>', 'measure only these, such as bf16,cuda-graph')
  .option('--show <file>', 'print the tables of this ladder.json; runs nothing')
  .action(async (experiment: string | undefined, flags: LadderFlags, command: Command) => {
    if (flags.show !== undefined) {
      refuseBesideShow(command, experiment)
      console.log(renderLadderTerminal(await readLadder(flags.show)))
      return
    }
    const cancelled = cancelOnSignals()
    const minutes =
      flags.minutes === undefined ? Number.POSITIVE_INFINITY : positiveDecimal('minutes', flags.minutes)
    if (flags.retry && !flags.resume)
      throw new ConfigError('--retry: launches again what failed, so it needs --resume; add it')
    const { record, workspace, hasNoRoom, missing, blocked, hasFailed } = await climbLadder(
      {
        ...source(named(experiment === undefined ? [] : [experiment]), flags),
        outDirectory: resolve(flags.out),
        settings: parseSetFlags(flags.set),
        deadlineMilliseconds: minutes * 60_000,
        resume: flags.resume === true,
        retry: flags.retry === true,
        only: flags.rungs?.split(',').map((name) => name.trim()) ?? null,
      },
      {
        cancelled,
        progress: (plan, titleOf) => new ProgressView(plan, process.stdout, false, titleOf),
        note: printNote,
      },
    )
    console.log(`\n${renderLadderTerminal(record)}\n`)
    console.log(`Report: ${fromHere(workspace.ladderReportFile)}   Record: ${fromHere(workspace.ladderFile)}`)
    if (missing.length > 0) console.log(`Still to measure, with --resume: ${missing.join(', ')}`)
    if (hasNoRoom && !cancelled.aborted)
      console.log(
        `Nothing was measured: --minutes ${flags.minutes} has no room for a launch between two of the baseline; give more`,
      )
    else if (missing.length > 0 && !hasFailed) printGoingOn()
    if (blocked.length > 0)
      console.log(
        `No sums of ${blocked.join(', ')}: the sum before fails, and by which rung is not known; measure them without --rungs`,
      )
    const isWhole = missing.length === 0 && blocked.length === 0
    const verdict = hasFailed ? 'failed' : isWhole ? 'passed' : 'inconclusive'
    process.exitCode = cancelled.aborted ? EXIT_CANCELLED : EXIT_CODES[verdict]
  })

withOverrides(program.command('doctor').argument('[experiment]', 'experiment file'), [
  'python',
  'nproc-per-node',
])
  .description('say what this machine lacks for an experiment, and how to mend it')
  .option('--out <folder>', 'folder for results', 'out')
  .action(async (experiment: string | undefined, flags: Flags) => {
    const findings = await examine({
      experimentFile: experiment === undefined ? null : fromHere(experiment),
      workingDirectory: process.cwd(),
      outDirectory: resolve(flags.out),
      overrides: overridesOf(flags),
      cancelled: cancelOnSignals(),
    })
    console.log(renderDoctor(findings))
    process.exitCode = isReady(findings) ? 0 : EXIT_BAD_INPUT
  })

/** Only our own repository is sure to have the one that is taken where none is named. */
function named(experiments: readonly string[]): readonly string[] {
  if (experiments.length > 0) return experiments
  if (existsSync(DEFAULT_EXPERIMENT)) return [DEFAULT_EXPERIMENT]
  throw new ConfigError(
    `experiment: got none, and ${process.cwd()} has no ${DEFAULT_EXPERIMENT}; name an experiment file`,
  )
}

/** The tables are of what was measured, by what its file says: no other option could change them. */
function refuseBesideShow(command: Command, experiment: string | undefined): void {
  const option = command.options.find((one) => {
    const name = one.attributeName()
    return name !== 'show' && command.getOptionValueSource(name) === 'cli'
  })
  const other = option?.long ?? experiment
  if (other !== undefined)
    throw new ConfigError(
      `--show: prints what its file holds, so ${other} would change nothing; leave one of them out`,
    )
}

async function recomputed(files: readonly string[], flags: Flags): Promise<Combined> {
  const results: Result[] = []
  for (const file of files) {
    const read = await readRecorded(file, (recorded) =>
      withGates(recorded, flags.gates ?? null, overridesOf(flags)),
    )
    results.push(assess(read.request, read.launched, read.watched, read.reevaluation))
  }
  return combine(results)
}

/** As plain text: it may name a ref of somebody else's making. */
function printNote(message: string): void {
  console.log(plainText(message))
}

function printCombined(combined: Combined, { reportFile, resultFiles }: CombinedFolder): void {
  console.log(`\n${renderCombinedTerminal(combined)}\n`)
  // Not there before the first launch has ended, or where a training has removed them.
  const places = (files: readonly string[]) => files.filter(existsSync).map(fromHere).join(' ') || 'not saved'
  console.log(`Report: ${places([reportFile])}   Result: ${places(resultFiles)}`)
}

function printGoingOn(): void {
  console.log(`To go on: ${callAgain(process.argv.slice(2), 'go on')}`)
}

outliveReaders()
try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  if (error instanceof ResumeError)
    console.error(`To start without --resume: ${callAgain(process.argv.slice(2), 'start')}`)
}
await exitPrinted()
