// speedproof ladder: measures every rung of an experiment, or prints what a ladder.json holds.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { positiveDecimal } from '../config/overrides/overrides.ts'
import { parseSetFlags } from '../config/overrides/set-flags.ts'
import { numberTextsOfFlags } from '../config/parse/number-texts.ts'
import { ConfigError } from '../errors.ts'
import { writeReport } from '../io/folder/html-report.ts'
import { ProgressView } from '../io/run/progress.ts'
import { cancelOnSignals } from '../io/system/cancel.ts'
import type { LadderJob } from '../ladder/io/job.ts'
import { readLadder } from '../ladder/io/ladder-file.ts'
import { type LadderOutcome, runLadder } from '../ladder/main.ts'
import { renderLadderPage } from '../ladder/report/html.ts'
import { renderLadderTerminal } from '../ladder/report/report.ts'
import { EXIT_CANCELLED, EXIT_CODES } from './exit-code.ts'
import {
  collect,
  DEFAULT_EXPERIMENT,
  type Flags,
  inputsOf,
  orDefaultExperiment,
  relativeToHere,
  withOverrides,
} from './options.ts'
import { printNote, printResume } from './print.ts'

interface LadderFlags extends Flags {
  readonly minutes?: string
  readonly retry?: boolean
  readonly set: readonly string[]
  readonly show?: string
  readonly rungs?: string
  readonly html?: string
}

export function addLadder(program: Command): void {
  const command = program
    .command('ladder')
    .argument('[experiment]', `experiment file with rungs under ladder: (default: ${DEFAULT_EXPERIMENT})`)
  withOverrides(command, ['python', 'seed', 'nproc-per-node', 'timeout-minutes'])
    .description('measure every rung of an experiment, alone and on top of those before it')
    .option('--out <folder>', 'folder for ladder.json, ladder.md and the runs', 'out/ladder')
    .option('--minutes <value>', 'stop before this many minutes have passed; --resume continues')
    .option('--resume', 'keep the measurements in that folder, and measure the rest in a new sitting')
    .option('--retry', 'with --resume, repeat failed launches')
    .option(
      '--set <key=value>',
      'trainer setting for every launch, such as train.updates=60; may be repeated',
      collect,
      [],
    )
    .option('--rungs <names>', 'measure only these rungs, such as bf16,cuda-graph')
    .option('--show <file>', 'print the tables of this ladder.json; runs nothing')
    .option('--html <file>', 'with --show, write its HTML report into this file instead')
    .action(ladder)
}

async function ladder(experiment: string | undefined, flags: LadderFlags, command: Command): Promise<void> {
  if (flags.show === undefined) {
    if (flags.html !== undefined)
      throw new ConfigError('--html: got a file without --show. Add --show ladder.json')
    return await measure(experiment, flags)
  }
  refuseOtherInputs(experiment, command)
  const record = await readLadder(flags.show)
  if (flags.html === undefined) console.log(renderLadderTerminal(record))
  else {
    await writeReport(flags.html, renderLadderPage(record))
    console.log(`Report: ${flags.html}`)
  }
}

/** The tables come from the file alone; an experiment or another option would have no effect. */
function refuseOtherInputs(experiment: string | undefined, command: Command): void {
  const other = command.options.find((option) => {
    const name = option.attributeName()
    return name !== 'show' && name !== 'html' && command.getOptionValueSource(name) === 'cli'
  })
  const ignored = other?.long ?? experiment
  if (ignored !== undefined)
    throw new ConfigError(
      `--show: got ${ignored} as well, but --show only prints its file. Leave one of them out`,
    )
}

async function measure(experiment: string | undefined, flags: LadderFlags): Promise<void> {
  const cancelled = cancelOnSignals()
  const rungSets = await runLadder(jobOf(experiment, flags), {
    cancelled,
    progress: (plan, titleOf) => new ProgressView(plan, process.stdout, false, titleOf),
    note: printNote,
  })
  printOutcome(rungSets, flags, cancelled)
  const { hasBaselineFailed, remaining } = rungSets
  const verdict = hasBaselineFailed ? 'failed' : remaining.length === 0 ? 'passed' : 'inconclusive'
  process.exitCode = cancelled.aborted ? EXIT_CANCELLED : EXIT_CODES[verdict]
}

function jobOf(experiment: string | undefined, flags: LadderFlags): LadderJob {
  const minutes =
    flags.minutes === undefined ? Number.POSITIVE_INFINITY : positiveDecimal('minutes', flags.minutes)
  if (flags.retry && !flags.resume)
    throw new ConfigError(
      '--retry: --resume is missing, and only a resumed ladder has failed launches to repeat. Add --resume',
    )
  return {
    ...inputsOf(orDefaultExperiment(experiment === undefined ? [] : [experiment]), flags),
    outDirectory: resolve(flags.out),
    settings: parseSetFlags(flags.set),
    numberTexts: numberTextsOfFlags(flags.set),
    deadlineMilliseconds: minutes * 60_000,
    resume: flags.resume === true,
    retry: flags.retry === true,
    rungNames: flags.rungs?.split(',').map((name) => name.trim()) ?? null,
  }
}

function printOutcome(
  { record, workspace, remaining, isTimeTooShort, hasBaselineFailed }: LadderOutcome,
  flags: LadderFlags,
  cancelled: AbortSignal,
): void {
  const [report, file] = [workspace.ladderReportFile, workspace.ladderFile].map(relativeToHere)
  console.log(`\n${renderLadderTerminal(record)}\n`)
  console.log(`Report: ${report}   Record: ${file}`)
  if (remaining.length > 0) console.log(`Still to measure, with --resume: ${remaining.join(', ')}`)
  if (isTimeTooShort && !cancelled.aborted)
    console.log(
      `Nothing was measured: --minutes ${flags.minutes} is too short for a launch between two baseline launches. Give more minutes`,
    )
  else if (remaining.length > 0 && !hasBaselineFailed) printResume()
}
