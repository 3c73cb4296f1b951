// Where the numbers come from: each fact that a verdict rests on, and who says it.
import { VARIANTS } from '../../config/experiment.ts'
import { FACT_NAMES, FACTS, type Fact, type Facts, provenanceText } from '../../read/facts.ts'
import type { Result } from '../../record/result.ts'
import { escapeCell } from '../escape.ts'
import { ruleLink } from '../rules.ts'
import { folded, type Section, table } from '../section.ts'

export const provenanceSection: Section = (result) => ({
  kind: 'details',
  title: 'where the numbers come from',
  markdown: VARIANTS.every((variant) => result.facts[variant] === null)
    ? ''
    : folded(`Where the numbers come from: ${countText(result)}`, provenanceTable(result)),
})

function countText({ facts }: Result): string {
  const reported = FACTS.filter((fact) => isReported(fact, facts))
  return reported.length === FACTS.length
    ? 'all reported by the training'
    : `${reported.length} of ${FACTS.length} facts reported by the training`
}

/** A plain trainer of the contract has nothing to explain. */
function provenanceTable({ facts, runs, data }: Result): string {
  const reported = FACTS.filter((fact) => isReported(fact, facts)).map((fact) => FACT_NAMES[fact])
  const rows = FACTS.filter((fact) => !isReported(fact, facts)).map((fact) => [
    FACT_NAMES[fact],
    ...VARIANTS.map((variant) => cell(facts[variant], fact)),
  ])
  const readers = [...new Set(runs.map(({ reader }) => reader))].join(', ')
  const files = data === null ? '' : ` Files under \`data:\`: SHA-256 ${data.before.baseline.slice(0, 12)}.`
  return [
    ...(rows.length === 0 ? [] : [table([['fact', ...VARIANTS], ...rows])]),
    `Reported: ${reported.join(', ') || 'nothing'}. Format of the metrics: ${escapeCell(readers)}.${files}`,
    ruleLink('What each of these may decide', 'facts'),
  ].join('\n\n')
}

function isReported(fact: Fact, facts: Result['facts']): boolean {
  return VARIANTS.every((variant) => (facts[variant]?.[fact] ?? 'reported') === 'reported')
}

function cell(facts: Facts | null, fact: Fact): string {
  return facts === null ? 'not measured' : provenanceText(fact, facts[fact])
}
