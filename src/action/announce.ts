// Says in the step itself what a result is: log, summary, annotations, and in the end its outputs. No trouble here changes the verdict.

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
export function announceCombined(combined: Combined): void {
  printLines(renderCombinedTerminal(combined))
  warnOf('job summary', writeSummary(renderCombinedMarkdown(combined)))
  annotate(verdictAnnotation(combined))
}

interface Shown {
  readonly comment: CommentOutcome
  readonly check: CheckOutcome
}

/** True if the check was written, or a newer run has written it. */
export function announceShown({ comment, check }: Shown): boolean {
  if (comment.status === 'failed') warn('comment', comment.reason)
  else if (comment.status === 'skipped') printLines(`no comment: ${comment.reason}`)

  if (check.status === 'failed') warn('check', check.reason)
  else if (check.status === 'skipped') printLines(`no check: ${check.reason}`)
  return check.status !== 'failed'
}

/** Last: a step that dies on the way to here has set no verdict that a later job could take for good. */
export function setOutputs(
  combined: Combined,
  { resultFiles, reportFile }: Pick<CombinedFolder, 'resultFiles' | 'reportFile'>,
  { artifactUrl, comment, check }: Partial<Shown> & { readonly artifactUrl: string | null },
): void {
  const written = writeOutputs({
    ...combinedOutputs(combined),
    'result-file': resultFiles.join('\n'),
    'report-file': reportFile,
    'artifact-url': artifactUrl ?? '',
    'comment-url': urlOf(comment),
    'check-url': urlOf(check),
  })
  warnOf('outputs', written)
}

/** After the outputs: of several values of one, the runner takes the last. */
export function setInvalid(reason: string): void {
  warnOf('outputs', writeOutputs({ verdict: 'invalid', reason: oneLine(reason) }))
}

/** Where there is no verdict to tell. */
export function setUrls({ comment, check }: Shown): void {
  writeOutputs({ 'comment-url': urlOf(comment), 'check-url': urlOf(check) })
}

function urlOf(outcome: Shown[keyof Shown] | undefined): string {
  return outcome !== undefined && 'url' in outcome ? outcome.url : ''
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
