// Asks nvidia-smi, found on PATH, for rows of fields; drops the fields that a driver does not know.
import { runShort } from '../process/short-command.ts'

export interface MachineContext {
  readonly environment: Record<string, string>
  readonly workingDirectory: string
  readonly cancelled: AbortSignal
  /** For an answer; without it as long as any short command may take. */
  readonly limitSeconds?: number
}

/** A value is null where the driver has none for this GPU: [N/A], [Not Supported], [Unknown Error], ... */
export type SmiRow = Readonly<Record<string, string | null>>

export type SmiAnswer =
  | {
      readonly status: 'answered'
      readonly fields: readonly string[]
      readonly rows: readonly SmiRow[]
      /** Of a program that answered and did not end with 0, as with a corrupt inforom; null for one that did. */
      readonly warning: string | null
    }
  | { readonly status: 'not-available'; readonly reason: string }

export type SmiTable = 'gpu' | 'compute-apps'

/** What newer drivers renamed, by its old name: drivers before 535 know only that one. */
const OLDER_NAMES: Readonly<Record<string, string>> = {
  'clocks_event_reasons.active': 'clocks_throttle_reasons.active',
}

/** With which it ends after a whole answer, whether there are rows or not. */
const CORRUPT_INFOROM = 14
/** A number in every row of each table. */
const KEYS = { gpu: 'index', 'compute-apps': 'pid' } as const

export async function querySmi(
  table: SmiTable,
  fields: readonly string[],
  context: MachineContext,
): Promise<SmiAnswer> {
  const { environment, workingDirectory, cancelled, limitSeconds } = context
  const command = smiCommand(table, fields)
  const asked = await runShort(command, workingDirectory, environment, cancelled, limitSeconds)
  if (asked.status === 'no-answer') return notAvailable(`nvidia-smi cannot be started (${asked.message})`)
  const rows = parseRows(asked.stdout, fields)
  if (asked.exitCode === 0) return { status: 'answered', fields, rows, warning: null }
  const text = `${asked.stdout}\n${asked.stderr}`.trim()
  if (asked.exitCode === CORRUPT_INFOROM || rows.some((row) => numberOf(row, KEYS[table]) !== null)) {
    const said = asked.stderr.trim().split('\n')[0]
    const warning = `nvidia-smi answered and ended with exit code ${asked.exitCode}${said ? `: ${said}` : ''}`
    return { status: 'answered', fields, rows, warning }
  }
  const unknown = /Field "([^"]+)" is not a valid field/.exec(text)?.[1]
  if (unknown === undefined || !fields.includes(unknown)) {
    return notAvailable(`nvidia-smi ended with exit code ${asked.exitCode}: ${text.split('\n')[0]}`)
  }
  const known = fields.flatMap((field) => (field === unknown ? (OLDER_NAMES[field] ?? []) : field))
  return querySmi(table, known, context)
}

export function smiCommand(table: SmiTable, fields: readonly string[]): string[] {
  return ['nvidia-smi', `--query-${table}=${fields.join(',')}`, '--format=csv,noheader,nounits']
}

/** The value of a field, also where the driver calls it by its older name. */
export function textOf(row: SmiRow, field: string): string | null {
  return row[field] ?? row[OLDER_NAMES[field] ?? ''] ?? null
}

/** Null for anything that is no plain number. */
export function numberOf(row: SmiRow, field: string): number | null {
  const text = textOf(row, field)
  return text !== null && /^(\d+(\.\d+)?|0x[0-9a-f]+)$/i.test(text) ? Number(text) : null
}

function parseRows(text: string, fields: readonly string[]): SmiRow[] {
  return text
    .split('\n')
    .map((line) => parseRow(line, fields))
    .filter((row) => row !== null)
}

/** Null for a line that is no row, such as the warning of a driver. */
export function parseRow(line: string, fields: readonly string[]): SmiRow | null {
  const cells = line.split(',').map((cell) => cell.trim())
  if (cells.length !== fields.length) return null
  return Object.fromEntries(fields.map((field, index) => [field, present(cells[index] ?? '')]))
}

function present(cell: string): string | null {
  return cell === '' || cell === 'N/A' || /^\[.*\]$/.test(cell) ? null : cell
}

function notAvailable(reason: string): SmiAnswer {
  return { status: 'not-available', reason }
}
