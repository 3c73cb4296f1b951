// A result -> what a person reads in a terminal.
import { markdownTable } from 'markdown-table'
import type { Result } from '../record/result.ts'
import { shortened, statusText } from '../text/wording.ts'
import { oneLine } from './escape.ts'
import { gateCells, gateMeaning, tableHead } from './gates/gate-row.ts'
import { secondaryEvidence } from './secondary-evidence.ts'
import { MACHINE_HEAD, machineCheckLines, machineNumbers } from './sections/machine.ts'
import { VERDICT_ICON, verdictTitle } from './sections/verdict.ts'
import { differenceText } from './setting.ts'

/** Reasons quote trainers and configs, whose text must stay in its line. */
export function renderTerminal(result: Result): string {
  const { verdict } = result
  const meanings = verdict.gates.map((gate) => `${gate.gate.name}: ${gateMeaning(gate)}`)
  const checks = verdict.checks.map(({ name, status, detail }) => `${name}: ${statusText(status)}, ${detail}`)
  const warnings = verdict.warnings.map((warning) => `warning: ${warning}`)
  const end = `${VERDICT_ICON[verdict.verdict]} ${verdictTitle(result)}: ${verdict.reason}`
  return [
    ...question(result),
    '',
    ...gateTable(result),
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

/** A terminal that is narrower breaks the lines of a table. */
const MAX_COLUMNS = 100

/** Where the whole table is too wide, the levels of both variants follow it, a line for each gate. */
function gateTable({ verdict: { gates } }: Result): string[] {
  const rows = [tableHead(gates), ...gates.map(gateCells)]
  const whole = markdownTable(rows)
  if (widthOf(whole) <= MAX_COLUMNS) return [whole]
  const compact = (longest: number) =>
    markdownTable(rows.map(([gate = '', , , ...rest]) => [shortened(gate, longest), ...rest.map(withoutGiB)]))
  const tooWide = Math.max(0, widthOf(compact(MAX_NAME)) - MAX_COLUMNS)
  const levels = rows
    .slice(1)
    .map(
      ([gate = '', baseline = '', optimized = '']) => `${gate}: baseline ${baseline}, optimized ${optimized}`,
    )
  return [compact(Math.max(LEAST_NAME, MAX_NAME - tooWide)), '', ...indented(levels)]
}

const MAX_NAME = 28
const LEAST_NAME = 8

/** "50.0 GB (46.6 GiB)" as "50.0 GB". */
function withoutGiB(cell: string): string {
  return cell.replace(/ \(\S+ GiB\)/, '')
}

function widthOf(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length))
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
