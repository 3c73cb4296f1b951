#!/usr/bin/env node
// The command line: the same stages behind a few words.
import './io/require-node.ts'

import { isAbsolute, relative, resolve } from 'node:path'
import { Command, CommanderError } from 'commander'
import { assess } from './assess.ts'
import { OVERRIDE_NAMES, type OverrideName, parseOverrides } from './config/overrides.ts'
import { CancelledError, ConfigError, RunError } from './errors.ts'
import { readRecorded, withGates } from './io/analyze.ts'
import { cancelOnSignals } from './io/cancel.ts'
import { loadAll } from './io/load-all.ts'
import { examine } from './io/machine/doctor.ts'
import { noiseFloorFolder } from './io/noise-floors.ts'
import { plainText } from './io/process/sanitize.ts'
import { ProgressView } from './io/progress.ts'
import type { WholeFolder } from './io/whole-folder.ts'
import { earlierTimes, Workspace } from './io/workspace.ts'
import { main } from './main.ts'
import { planRuns } from './plan/plan.ts'
import { isReady, renderDoctor } from './report/doctor.ts'
import { renderPlan } from './report/plan-text.ts'
import type { Result } from './report/result.ts'
import { renderWholeMarkdown, renderWholeTerminal, type Whole, wholeOf } from './report/whole.ts'

const EXIT_CODES = { passed: 0, failed: 1, inconclusive: 3, invalid: 4 } as const
const EXIT_BAD_INPUT = 2
const EXIT_OUR_BUG = 70
const EXIT_CANCELLED = 130

const DEFAULT_EXPERIMENT = 'configs/experiments/smoke.yaml'

const OVERRIDE_HELP: Readonly<Record<OverrideName, string>> = {
  mode: 'compare, or aa: the baseline against itself, which stores the noise floor',
  preset: 'design and gates: smoke, pull-request, nightly or release',
  python: 'interpreter with torch',
  base: 'branch, tag or commit that the merge base is taken with, such as origin/main',
  blocks: 'number of blocks, each one run of both variants, or looks such as 4,6,8',
  seed: 'seed of the first block; each further block takes the next',
  'nproc-per-node': 'processes on this machine, one per GPU',
  'timeout-minutes': 'limit for one run',
  'price-per-gpu-hour': 'price of one GPU for an hour, for costs',
  'min-speedup': 'required lower bound of the speedup, such as 3.0',
  'max-loss-delta': 'required upper bound of the rise in held-out loss, such as 0.001',
}

interface Flags {
  readonly out: string
  readonly noiseFloors?: string
  readonly gates?: string
  readonly resume?: boolean
}

const program = new Command('speedproof')
  .description('Proves that a PyTorch training got faster and its model no worse.')
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()

withOverrides(
  program
    .command('run')
    .argument('[experiments...]', 'experiment files, one for each question', [DEFAULT_EXPERIMENT]),
  OVERRIDE_NAMES,
)
  .description('run both variants, compare them and report')
  .option('--out <folder>', 'folder for results', 'out')
  .option('--noise-floors <folder>', 'folder where noise floors are kept, if not the one of the user')
  .option('--resume', 'keep the finished blocks of an interrupted experiment in that folder')
  .action(async (experiments: string[], flags: Flags) => {
    const cancelled = cancelOnSignals()
    const whole = await main(
      { ...source(experiments, flags), outDirectory: resolve(flags.out), resume: flags.resume === true },
      {
        cancelled,
        progress: (plan) => new ProgressView(plan, process.stdout, false),
        note: printNote,
        onStart: () => {},
        onWorktree: () => {},
        publish: async (finished, folder) => printWhole(finished, folder),
      },
    )
    process.exitCode = cancelled.aborted ? EXIT_CANCELLED : EXIT_CODES[whole.verdict]
  })

withOverrides(
  program.command('plan').argument('[experiments...]', 'experiment files', [DEFAULT_EXPERIMENT]),
  OVERRIDE_NAMES,
)
  .description('check everything and print what would run, and for how long')
  .option('--out <folder>', 'folder with earlier results, for the estimate', 'out')
  .action(async (experiments: string[], flags: Flags) => {
    await using questions = await loadAll({
      ...source(experiments, flags),
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
  .option('--gates <file>', 'take the gates from this YAML file instead')
  .action(async (files: string[], flags: Flags) => {
    const whole = await recomputed(files, flags)
    console.log(renderWholeTerminal(whole))
    process.exitCode = EXIT_CODES[whole.verdict]
  })

program
  .command('report')
  .argument('<results...>', 'result.json of each experiment')
  .description('print the Markdown report of recorded experiments')
  .action(async (files: string[], flags: Flags) =>
    console.log(renderWholeMarkdown(await recomputed(files, flags))),
  )

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

function withOverrides(command: Command, names: readonly OverrideName[]): Command {
  return names.reduce((extended, name) => extended.option(`--${name} <value>`, OVERRIDE_HELP[name]), command)
}

function source(experiments: readonly string[], flags: Flags) {
  return {
    experimentFiles: experiments.map(fromHere),
    workingDirectory: process.cwd(),
    overrides: overridesOf(flags),
    noiseFloorFolder: flags.noiseFloors ? resolve(flags.noiseFloors) : noiseFloorFolder(process.env),
  }
}

/** Reports name the file as it would be typed here. */
function fromHere(path: string): string {
  return isAbsolute(path) ? relative(process.cwd(), path) : path
}

/** commander gives --min-speedup as minSpeedup. */
function overridesOf(flags: Flags) {
  const camel = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  return parseOverrides(
    Object.fromEntries(OVERRIDE_NAMES.map((name) => [name, Reflect.get(flags, camel(name)) ?? ''])),
  )
}

async function recomputed(files: readonly string[], flags: Flags): Promise<Whole> {
  const results: Result[] = []
  for (const file of files) {
    const read = await readRecorded(file, (recorded) =>
      withGates(recorded, flags.gates ?? null, overridesOf(flags)),
    )
    results.push(assess(read.request, read.launched, read.watched, read.reevaluation))
  }
  return wholeOf(results)
}

/** As plain text: it may name a ref of somebody else's making. */
function printNote(message: string): void {
  console.log(plainText(message))
}

function printWhole(whole: Whole, { reportFile, resultFiles }: WholeFolder): void {
  console.log(`\n${renderWholeTerminal(whole)}\n`)
  console.log(`Report: ${fromHere(reportFile)}   Result: ${resultFiles.map(fromHere).join(' ')}`)
}

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}
process.exit()

function report(error: unknown): number {
  // commander has printed its own message; asking for help is no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_BAD_INPUT
  if (error instanceof ConfigError) {
    console.error(error.message)
    return EXIT_BAD_INPUT
  }
  if (error instanceof CancelledError) {
    console.error(error.message)
    return EXIT_CANCELLED
  }
  if (error instanceof RunError) {
    console.error(error.message)
    return EXIT_CODES.failed
  }
  console.error('Speedproof has a bug; please report it with this text:', error)
  return EXIT_OUR_BUG
}
