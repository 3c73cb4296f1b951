// `speedproof report`: prints the Markdown report of recorded experiments.
import type { Command } from 'commander'
import { renderCombinedMarkdown } from '../report/combined.ts'
import { assessAgain } from './analyze.ts'
import type { Flags } from './options.ts'

export function addReport(program: Command): void {
  program
    .command('report')
    .argument('<results...>', 'result.json of each experiment')
    .description('print the Markdown report of recorded experiments')
    .action(async (files: string[], flags: Flags) =>
      console.log(renderCombinedMarkdown(await assessAgain(files, flags))),
    )
}
