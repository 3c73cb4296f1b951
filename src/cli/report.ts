// speedproof report: prints the Markdown report of recorded experiments.
import type { Command } from 'commander'
import { renderCombinedMarkdown } from '../report/combined.ts'
import type { Flags } from './options.ts'
import { rejudge } from './rejudge.ts'

export function addReport(program: Command): void {
  program
    .command('report')
    .argument('<results...>', 'result.json of each experiment')
    .description('print the Markdown report of recorded experiments')
    .action(async (resultFiles: readonly string[], flags: Flags) =>
      console.log(renderCombinedMarkdown(await rejudge(resultFiles, flags))),
    )
}
