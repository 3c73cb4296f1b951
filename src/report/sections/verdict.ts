// What was decided and why, with its warnings, and the table of the gates.
import type { Result } from '../../record/result.ts'
import { escapeCell } from '../escape.ts'
import { gateCells, TABLE_HEAD } from '../gates/gate-row.ts'
import { ruleLink } from '../rules.ts'
import { type Section, table } from '../section.ts'

export const VERDICT_ICON = { passed: '✅', failed: '❌', inconclusive: '❔', invalid: '⚠️' } as const

export const verdictSection: Section = (result) => ({
  kind: 'verdict',
  title: 'verdict',
  markdown: verdictText(result),
})

export const gateTableSection: Section = ({ verdict }) => ({
  kind: 'rows',
  title: 'the gate table',
  markdown: table([TABLE_HEAD, ...verdict.gates.map(gateCells)]),
})

/** An A/A bears its experiment's name, and must not be taken for it. */
export function verdictTitle({ experiment: { name, mode }, verdict }: Result): string {
  return `${name}${mode === 'aa' ? ' (A/A)' : ''} ${verdict.verdict}`
}

function verdictText(result: Result): string {
  const { verdict } = result
  const warnings = verdict.warnings.map((warning) => `> ⚠️ ${escapeCell(warning)}`)
  return [
    `## ${VERDICT_ICON[verdict.verdict]} Speedproof: ${verdictTitle(result)}`,
    '',
    `**Why:** ${escapeCell(verdict.reason, 1000)} (${ruleLink('how a verdict is made', 'verdicts')})`,
    ...(warnings.length > 0 ? ['', ...warnings] : []),
  ].join('\n')
}
