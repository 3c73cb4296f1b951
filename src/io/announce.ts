// Says in the step itself what a result is: log, outputs, summary, annotations. No trouble here changes the verdict.
import { isWholeNeutral, type Whole } from '../record/whole.ts'
import { oneLine } from '../report/escape.ts'
import { renderWholeMarkdown, renderWholeTerminal, wholeOutputs } from '../report/whole.ts'
import { annotate } from './github/annotations.ts'
import type { CheckOutcome } from './github/check-run.ts'
import type { CommentOutcome } from './github/comment.ts'
import { writeSummary } from './github/job-summary.ts'
import { writeOutputs } from './github/outputs.ts'
import type { Surface } from './github/surface.ts'
import { plainText } from './process/sanitize.ts'
import type { WholeFolder } from './whole-folder.ts'

/** What is quickest and surest comes first: a cancelled step has seconds. */
export async function announceWhole(
  whole: Whole,
  { resultFiles, reportFile }: Pick<WholeFolder, 'resultFiles' | 'reportFile'>,
): Promise<void> {
  printLines(renderWholeTerminal(whole))
  const files = { 'result-file': resultFiles.join('\n'), 'report-file': reportFile }
  const urls = { 'artifact-url': '', 'comment-url': '', 'check-url': '' }
  warnOf('outputs', writeOutputs({ ...wholeOutputs(whole), ...files, ...urls }))
  warnOf('job summary', await writeSummary(renderWholeMarkdown(whole)))
  annotate(verdictAnnotation(whole))
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

function verdictAnnotation(whole: Whole) {
  const { name, verdict, reason } = whole
  const open = isWholeNeutral(whole) ? ('warning' as const) : ('error' as const)
  return {
    level: verdict === 'passed' ? ('notice' as const) : open,
    title: `Speedproof: ${name} ${verdict}`,
    message: oneLine(reason),
  }
}
