// speedproof report: prints the Markdown report of recorded experiments, or writes the HTML report.
import type { Command } from 'commander'
import { writeReport } from '../io/folder/html-report.ts'
import { combine } from '../record/combined.ts'
import { renderCombinedMarkdown } from '../report/combined.ts'
import { pointsPerCurve, renderPage } from '../report/html/page.ts'
import { reportedExperiment } from '../report/html/reported.ts'
import type { Flags } from './options.ts'
import { rejudge, rejudgeEach } from './rejudge.ts'

interface ReportFlags extends Flags {
  readonly html?: string
}

export function addReport(program: Command): void {
  program
    .command('report')
    .argument('<results...>', 'result.json of each experiment, or its folder')
    .description('print the Markdown report of recorded experiments')
    .option('--html <file>', 'write the HTML report, with charts, into this file instead')
    .action(report)
}

async function report(resultFiles: readonly string[], flags: ReportFlags): Promise<void> {
  if (flags.html === undefined) {
    console.log(renderCombinedMarkdown(await rejudge(resultFiles, flags)))
    return
  }
  const reported = await rejudgeEach(resultFiles, flags, ({ result, read }) =>
    reportedExperiment(result, read.launched, read.watched, pointsPerCurve(resultFiles.length)),
  )
  await writeReport(flags.html, renderPage(combine(reported.map(({ result }) => result)), reported))
  console.log(`Report: ${flags.html}`)
}
