// On what was measured: devices, versions, revision, time.
import type { RunSummary } from '../../measure/summary.ts'
import type { Result } from '../../record/result.ts'
import { escapeCell } from '../escape.ts'
import { folded, type Section, table } from '../section.ts'

export const environmentSection: Section = (result) => ({
  kind: 'details',
  title: 'environment',
  markdown: folded('Environment: devices, versions, revision', environmentTable(result)),
})

function environmentTable(result: Result): string {
  const rows = environmentRows(result).map((cells) => cells.map((cell) => escapeCell(cell)))
  return table([['what', 'value'], ...rows])
}

/** Untrusted texts, as they are. */
export function environmentRows({ runs, revision, launches, attempt }: Result): string[][] {
  const [run] = runs
  return [
    ['devices', run ? devicesText(run) : 'not measured'],
    ...Object.entries(run?.versions ?? {}),
    ['revision', revision ?? 'none: not in a git checkout that git reads'],
    ...(attempt === null ? [] : [['attempt of the workflow run', String(attempt)]]),
    ['measured', launches[0]?.startedAt ?? 'nothing was launched'],
  ]
}

function devicesText({ worldSize, deviceNames }: RunSummary): string {
  if (deviceNames.length === 0) return 'not read back'
  return `${worldSize ?? deviceNames.length} x ${[...new Set(deviceNames)].join(', ')}`
}
