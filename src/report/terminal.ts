// A result -> what a person reads in a terminal.
import { markdownTable } from 'markdown-table'
import { gateCells, gateMeaning, TABLE_HEAD } from './gate-row.ts'
import { VERDICT_ICON } from './markdown.ts'
import type { Result } from './result.ts'

export function renderTerminal({ experiment, verdict }: Result): string {
  const rows = verdict.gates.map(gateCells)
  const meanings = verdict.gates.map((gate) => `  ${gate.gate.name}: ${gateMeaning(gate)}`)
  const checks = verdict.checks.map(({ name, state, detail }) => `  ${name}: ${state}, ${detail}`)
  return [
    markdownTable([[...TABLE_HEAD], ...rows]),
    '',
    ...meanings,
    '',
    'Checks',
    ...checks,
    '',
    ...verdict.warnings.map((warning) => `warning: ${warning}`),
    `${VERDICT_ICON[verdict.verdict]} ${experiment.name} ${verdict.verdict}: ${verdict.reason}`,
  ].join('\n')
}
