// Says in the step itself what a result is: log, outputs, summary, annotations. No trouble here changes the verdict.

import type { CombinedFolder } from '../io/folder/combined-folder.ts'
import { annotate } from '../io/github/report/annotations.ts'
import type { CheckOutcome } from '../io/github/report/check-run.ts'
import type { CommentOutcome } from '../io/github/report/comment.ts'
import { writeSummary } from '../io/github/report/job-summary.ts'
import { writeOutputs } from '../io/github/report/outputs.ts'
import type { Surface } from '../io/github/report/surface.ts'
import { plainText } from '../io/system/sanitize.ts'
import { type Combined, isCombinedNeutral } from '../record/combined.ts'
import { combinedOutputs, renderCombinedMarkdown, renderCombinedTerminal } from '../report/combined.ts'
import { oneLine } from '../report/escape.ts'

/** What is quickest and surest comes first: a cancelled step has seconds. */
export async function announceCombined(
  combined: Combined,
  { resultFiles, reportFile }: Pick<CombinedFolder, 'resultFiles' | 'reportFile'>,
): Promise<void> {
  printLines(renderCombinedTerminal(combined))
  const files = { 'result-file': resultFiles.join('\n'), 'report-file': reportFile }
  const urls = { 'artifact-url': '', 'comment-url': '', 'check-url': '' }
  warnOf('outputs', writeOutputs({ ...combinedOutputs(combined), ...files, ...urls }))
  warnOf('job summary', await writeSummary(renderCombinedMarkdown(combined)))
  annotate(verdictAnnotation(combined))
}

/** True if the check was written, or a newer run has written it. */
export function announceShown({ comment, check }: { comment: CommentOutcome; check: CheckOutcome }): boolean {
  if ('url' in comment) writeOutputs({ 'comment-url': comment.url })
  else if (comment.status === 'failed') warn('comment', comment.reason)
  else printLines(`no comment: ${comment.reason}`)

  if ('url' in check) writeOutputs({ 'check-url': check.url })
  else if (check.status === 'failed') warn('check', check.reason)
  else printLines(`no check: ${check.reason}`)
  return check.status !== 'failed'
}

/** The text may quote the trainer: something visible at its start keeps a line from being a command of the runner. */
export function printLines(text: string): void {
  for (const line of text.split('\n')) process.stdout.write(`│ ${plainText(line)}\n`)
}

export function warn(place: string, reason: string): void {
  annotate({ level: 'warning', title: `Speedproof: ${place}`, message: oneLine(reason) })
}

function warnOf(place: string, surface: Surface): void {
  if (surface.status === 'failed') warn(place, surface.reason)
}

function verdictAnnotation(combined: Combined) {
  const { name, verdict, reason } = combined
  const open = isCombinedNeutral(combined) ? ('warning' as const) : ('error' as const)
  return {
    level: verdict === 'passed' ? ('notice' as const) : open,
    title: `Speedproof: ${name} ${verdict}`,
    message: oneLine(reason),
  }
}
