// speedproof run: measures both variants, compares them and reports.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { OVERRIDE_NAMES } from '../config/overrides/overrides.ts'
import type { CombinedFolder } from '../io/folder/combined-folder.ts'
import { ProgressView } from '../io/run/progress.ts'
import { cancelOnSignals } from '../io/system/cancel.ts'
import { main } from '../main.ts'
import { type Combined, canGoOn } from '../record/combined.ts'
import type { Result } from '../record/result.ts'
import { renderCombinedTerminal } from '../report/combined.ts'
import { shellQuote } from '../text/shell-quote.ts'
import { EXIT_CANCELLED, EXIT_CODES } from './exit-code.ts'
import {
  DEFAULT_EXPERIMENT,
  type Flags,
  inputsOf,
  orDefaultExperiment,
  relativeToHere,
  withOverrides,
} from './options.ts'
import { printNote, printResume } from './print.ts'

export function addRun(program: Command): void {
  const command = program
    .command('run')
    .argument(
      '[experiments...]',
      `experiment files, which share one verdict (default: ${DEFAULT_EXPERIMENT})`,
    )
  withOverrides(command, OVERRIDE_NAMES)
    .description('run both variants, compare them and report')
    .option('--out <folder>', 'folder for results', 'out')
    .option('--noise-floors <folder>', 'folder for noise floors (default: a folder of the user)')
    .option('--resume', 'continue an interrupted experiment in that folder; its finished blocks are kept')
    .action(run)
}

async function run(experiments: readonly string[], flags: Flags): Promise<void> {
  const cancelled = cancelOnSignals()
  const combined = await main(
    {
      ...inputsOf(orDefaultExperiment(experiments), flags),
      outDirectory: resolve(flags.out),
      resume: flags.resume === true,
    },
    {
      cancelled,
      progress: (plan) => new ProgressView(plan, process.stdout, false),
      note: printNote,
      onStart: () => {},
      onAllocation: () => {},
      onWorktree: () => {},
      interference: () => [],
      publish: async (finished, folder) => printCombined(finished, folder),
    },
  )
  if (cancelled.aborted && canGoOn(combined)) printResume()
  process.exitCode = cancelled.aborted ? EXIT_CANCELLED : EXIT_CODES[combined.verdict]
}

function printCombined(combined: Combined, { reportFile, resultFiles }: CombinedFolder): void {
  console.log(`\n${renderCombinedTerminal(combined)}\n`)
  // Not there before the first launch has ended, or where a training has removed them.
  const places = (files: readonly string[]) =>
    files.filter(existsSync).map(relativeToHere).join(' ') || 'not saved'
  console.log(`Report: ${places([reportFile])}   Result: ${places(resultFiles)}`)
  for (const result of combined.results.filter(hasBadMetrics))
    console.log(
      `All that is wrong with the metrics, at once: speedproof try ${shellQuote(result.experimentFile)}`,
    )
}

/** A launch names the first mistake in its metrics. */
function hasBadMetrics({ outcomes }: Result): boolean {
  return outcomes.some((outcome) => outcome.status === 'failed' && outcome.reason === 'bad-metrics')
}
