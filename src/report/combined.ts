// The results of one call -> one report: a table for each question, all of them under one verdict.
import type { Combined } from '../record/combined.ts'
import { escapeCell, oneLine } from './escape.ts'
import type { CommentSection } from './github/comment.ts'
import { verdictOutputs } from './github/outputs.ts'
import { joinSections, renderSections } from './markdown.ts'
import { ruleLink } from './rules.ts'
import { VERDICT_ICON } from './sections/verdict.ts'
import { renderTerminal } from './terminal.ts'

export function renderCombinedTerminal(combined: Combined): string {
  const { verdict, reason, results } = combined
  const each = results.map(renderTerminal)
  return results.length === 1
    ? each.join('')
    : [
        ...each,
        `${VERDICT_ICON[verdict]} ${countText(combined)} ${verdict} on this host: ${oneLine(reason)}`,
      ].join('\n\n')
}

/** One table for each question, all of them under one verdict. */
export function renderCombinedSections(combined: Combined): CommentSection[] {
  const { verdict, reason, results } = combined
  const each = results.flatMap(renderSections)
  if (results.length === 1) return each
  const markdown = [
    `## ${VERDICT_ICON[verdict]} Speedproof: ${countText(combined)} ${verdict} on this host`,
    '',
    `**Why:** ${escapeCell(reason, 1000)} (${ruleLink('how several are judged', 'several')})`,
  ].join('\n')
  return [{ kind: 'verdict', title: 'verdict', markdown }, ...each]
}

export function renderCombinedMarkdown(combined: Combined): string {
  return joinSections(renderCombinedSections(combined))
}

/** Verdict and reason are of all experiments, the numbers of the first. */
export function combinedOutputs({ verdict, reason, results }: Combined): Record<string, string> {
  const [first] = results
  return { ...(first ? verdictOutputs(first) : {}), verdict, reason: oneLine(reason) }
}

function countText({ results }: Combined): string {
  return `${results.length} experiments`
}
