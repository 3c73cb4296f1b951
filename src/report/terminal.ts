// A result -> what a person reads in a terminal.
import { markdownTable } from 'markdown-table'
import type { Result } from '../record/result.ts'
import { statusText } from '../text/wording.ts'
import { oneLine } from './escape.ts'
import { gateCells, gateMeaning, TABLE_HEAD } from './gates/gate-row.ts'
import { MACHINE_HEAD, machineCheckLines, machineNumbers } from './sections/machine.ts'
import { secondaryEvidence } from './sections/secondary-evidence.ts'
import { VERDICT_ICON, verdictTitle } from './sections/verdict.ts'
import { differenceText } from './setting.ts'

/** Reasons quote trainers and configs, whose text must stay in its line. */
export function renderTerminal(result: Result): string {
  const { verdict } = result
  const rows = verdict.gates.map(gateCells)
  const meanings = verdict.gates.map((gate) => `${gate.gate.name}: ${gateMeaning(gate)}`)
  const checks = verdict.checks.map(({ name, status, detail }) => `${name}: ${statusText(status)}, ${detail}`)
  const warnings = verdict.warnings.map((warning) => `warning: ${warning}`)
  const end = `${VERDICT_ICON[verdict.verdict]} ${verdictTitle(result)}: ${verdict.reason}`
  return [
    ...question(result),
    '',
    markdownTable([[...TABLE_HEAD], ...rows]),
    '',
    ...indented(meanings),
    '',
    ...indented(secondaryEvidence(result)),
    '',
    'Checks',
    ...indented(checks),
    '',
    ...machine(result),
    '',
    ...[...warnings, end].map(oneLine),
  ].join('\n')
}

function machine(result: Result): string[] {
  const checks = machineCheckLines(result).map(
    ({ names, status, detail }) => `${names}: ${statusText(status)}, ${detail}`,
  )
  const { rows, notMeasured } = machineNumbers(result)
  return [
    'Machine',
    ...indented(checks),
    ...indented(notMeasured.length === 0 ? [] : [`not measured: ${notMeasured.join(', ')}`]),
    ...(rows.length === 0 ? [] : ['', markdownTable([[...MACHINE_HEAD], ...rows])]),
  ]
}

/** What is compared with what. */
function question({ experiment, differences }: Result): string[] {
  if (experiment.mode === 'aa') return [`${experiment.name}: baseline against itself (A/A)`]
  return [
    `${experiment.name}: baseline against optimized, which differ in`,
    ...indented(differences.map(differenceText)),
  ]
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${oneLine(line)}`)
}
