// The results of one call -> one report: a table for each question, all of them under one verdict.
import type { Whole } from '../record/whole.ts'
import type { CommentSection } from './comment.ts'
import { escapeCell, oneLine } from './escape.ts'
import { joinSections, renderSections, VERDICT_ICON } from './markdown.ts'
import { verdictOutputs } from './outputs.ts'
import { ruleLink } from './rules.ts'
import { renderTerminal } from './terminal.ts'

export function renderWholeTerminal(whole: Whole): string {
  const { verdict, reason, results } = whole
  const each = results.map(renderTerminal)
  return results.length === 1
    ? each.join('')
    : [...each, `${VERDICT_ICON[verdict]} ${countText(whole)} ${verdict}: ${oneLine(reason)}`].join('\n\n')
}

/** One table for each question, all of them under one verdict. */
export function renderWholeSections(whole: Whole): CommentSection[] {
  const { verdict, reason, results } = whole
  const each = results.flatMap(renderSections)
  if (results.length === 1) return each
  const markdown = [
    `## ${VERDICT_ICON[verdict]} Speedproof: ${countText(whole)} ${verdict}`,
    '',
    `**Why:** ${escapeCell(reason, 1000)} (${ruleLink('how several are judged', 'several')})`,
  ].join('\n')
  return [{ kind: 'verdict', title: 'verdict', markdown }, ...each]
}

export function renderWholeMarkdown(whole: Whole): string {
  return joinSections(renderWholeSections(whole))
}

/** Verdict and reason are of all experiments, the numbers of the first. */
export function wholeOutputs({ verdict, reason, results }: Whole): Record<string, string> {
  const [first] = results
  return { ...(first ? verdictOutputs(first) : {}), verdict, reason: oneLine(reason) }
}

function countText({ results }: Whole): string {
  return `${results.length} experiments`
}
