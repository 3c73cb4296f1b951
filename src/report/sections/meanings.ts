// What each number of the table means, and the evidence beside the gates.
import type { Result } from '../../record/result.ts'
import { escapeCell } from '../escape.ts'
import { gateMeaning } from '../gates/gate-row.ts'
import { ruleLink, ruleOf } from '../rules.ts'
import { secondaryEvidence } from '../secondary-evidence.ts'
import { folded, type Section } from '../section.ts'

export const meaningsSection: Section = (result) => ({
  kind: 'details',
  title: 'what the numbers mean',
  markdown: folded('What each number means, and other evidence', meanings(result)),
})

function meanings(result: Result): string {
  const gates = result.verdict.gates.map(
    (gate) =>
      `- **${gate.gate.name}** (${ruleLink('rule', ruleOf(gate.gate))}): ${escapeCell(gateMeaning(gate), 600)}`,
  )
  const beside = secondaryEvidence(result).map((line) => `- ${escapeCell(line, 600)}`)
  return [
    '- **Confidence bounds** are one-sided. With the confidence in the head of the table, the true value is not below the lower bound, or not above the upper one.',
    ...gates,
    ...beside,
    `- ${ruleLink('The evidence outside the gates', 'beside')} decides nothing.`,
  ].join('\n')
}
