// The results of one call -> one report: a table for each question, all of them under one verdict.
import type { Combined } from '../record/combined.ts'
import type { Result } from '../record/result.ts'
import { escapeCell, oneLine } from './escape.ts'
import type { CommentSection } from './github/comment.ts'
import { verdictOutputs } from './github/outputs.ts'
import { joinSections, renderMarkdown, renderSections } from './markdown.ts'
import { ruleLink } from './rules.ts'
import { folded } from './section.ts'
import { VERDICT_ICON, verdictTitle } from './sections/verdict.ts'
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
  const [only, ...others] = results
  if (only && others.length === 0) return renderSections(only)
  const markdown = [
    `## ${VERDICT_ICON[verdict]} Speedproof: ${countText(combined)} ${verdict} on this host`,
    '',
    `**Why:** ${escapeCell(reason, 1000)} (${ruleLink('how several are judged', 'several')})`,
  ].join('\n')
  return [{ kind: 'verdict', title: 'verdict', markdown }, ...results.flatMap(sectionsOfOne)]
}

/** What passed is folded, so that a reader sees the others. */
function sectionsOfOne(result: Result): CommentSection[] {
  const { name } = result.experiment
  if (result.verdict.verdict !== 'passed')
    return renderSections(result).map((section) => ({ ...section, title: `${name}: ${section.title}` }))
  const title = `${VERDICT_ICON.passed} ${verdictTitle(result)}`
  return [{ kind: 'details', title: name, markdown: folded(title, renderMarkdown(result)) }]
}

export function renderCombinedMarkdown(combined: Combined): string {
  return joinSections(renderCombinedSections(combined))
}

/** Verdict and reason are of all experiments, the numbers of the first. */
export function combinedOutputs({ verdict, reason, results }: Combined): Record<string, string> {
  const [first] = results
  return { ...(first ? verdictOutputs(first) : {}), verdict, reason: oneLine(reason) }
}

/** The verdict of all is the worst of them: "1 of 3 experiments" have it. */
function countText({ verdict, results }: Combined): string {
  const having = results.filter((result) => result.verdict.verdict === verdict).length
  return having === results.length ? `${having} experiments` : `${having} of ${results.length} experiments`
}
