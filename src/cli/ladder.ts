// `speedproof ladder`: measures every rung of an experiment, or prints what was measured.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { positiveDecimal } from '../config/overrides/overrides.ts'
import { parseSetFlags } from '../config/overrides/set-flags.ts'
import { ConfigError } from '../errors.ts'
import { ProgressView } from '../io/run/progress.ts'
import { cancelOnSignals } from '../io/system/cancel.ts'
import { readLadder } from '../ladder/io/ladder-file.ts'
import { type Climbed, climbLadder, type LadderJob } from '../ladder/main.ts'
import { renderLadderTerminal } from '../ladder/report.ts'
import { EXIT_CANCELLED, EXIT_CODES } from './exit-code.ts'
import {
  collected,
  DEFAULT_EXPERIMENT,
  type Flags,
  fromHere,
  namedOrDefault,
  printHowToResume,
  printNote,
  source,
  withOverrides,
} from './options.ts'

interface LadderFlags extends Flags {
  readonly minutes?: string
  readonly retry?: boolean
  readonly set: readonly string[]
  readonly show?: string
  readonly rungs?: string
}

export function addLadder(program: Command): void {
  const command = program
    .command('ladder')
    .argument('[experiment]', `experiment file with rungs under ladder: (default: ${DEFAULT_EXPERIMENT})`)
  withOverrides(command, ['python', 'seed', 'nproc-per-node', 'timeout-minutes'])
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
    .action(ladder)
}

async function ladder(experiment: string | undefined, flags: LadderFlags, command: Command): Promise<void> {
  if (flags.show !== undefined) {
    requireShowAlone(command, experiment)
    console.log(renderLadderTerminal(await readLadder(flags.show)))
    return
  }
  const cancelled = cancelOnSignals()
  const climbed = await climbLadder(jobOf(experiment, flags), {
    cancelled,
    progress: (plan, titleOf) => new ProgressView(plan, process.stdout, false, titleOf),
    note: printNote,
  })
  printClimbed(climbed, flags, cancelled.aborted)
  process.exitCode = cancelled.aborted ? EXIT_CANCELLED : exitCodeAfter(climbed)
}

/** The tables are of what was measured, by what its file says: no other option could change them. */
function requireShowAlone(command: Command, experiment: string | undefined): void {
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

function jobOf(experiment: string | undefined, flags: LadderFlags): LadderJob {
  const minutes =
    flags.minutes === undefined ? Number.POSITIVE_INFINITY : positiveDecimal('minutes', flags.minutes)
  if (flags.retry && !flags.resume)
    throw new ConfigError('--retry: launches again what failed, so it needs --resume; add it')
  return {
    ...source(namedOrDefault(experiment === undefined ? [] : [experiment]), flags),
    outDirectory: resolve(flags.out),
    settings: parseSetFlags(flags.set),
    deadlineMilliseconds: minutes * 60_000,
    resume: flags.resume === true,
    retry: flags.retry === true,
    only: flags.rungs?.split(',').map((name) => name.trim()) ?? null,
  }
}

function printClimbed(climbed: Climbed, { minutes }: LadderFlags, isCancelled: boolean): void {
  const { record, workspace, hasNoRoom, missing, blocked, hasFailed } = climbed
  console.log(`\n${renderLadderTerminal(record)}\n`)
  console.log(`Report: ${fromHere(workspace.ladderReportFile)}   Record: ${fromHere(workspace.ladderFile)}`)
  if (missing.length > 0) console.log(`Still to measure, with --resume: ${missing.join(', ')}`)
  if (hasNoRoom && !isCancelled)
    console.log(
      `Nothing was measured: --minutes ${minutes} has no room for a launch between two of the baseline; give more`,
    )
  else if (missing.length > 0 && !hasFailed) printHowToResume()
  if (blocked.length > 0)
    console.log(
      `No sums of ${blocked.join(', ')}: the sum before fails, and by which rung is not known; measure them without --rungs`,
    )
}

function exitCodeAfter({ missing, blocked, hasFailed }: Climbed): number {
  if (hasFailed) return EXIT_CODES.failed
  return missing.length === 0 && blocked.length === 0 ? EXIT_CODES.passed : EXIT_CODES.inconclusive
}
