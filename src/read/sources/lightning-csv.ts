// Reads metrics.csv of Lightning's CSVLogger: a row for each call of log, with its other columns empty.
import type { SourceOf } from '../../config/metrics.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import { problemAt } from '../event-problems.ts'
import { withoutByteOrderMark } from '../json-line.ts'
import { linesOf } from '../lines.ts'
import type { Reader } from '../reader.ts'
import { factsOf } from '../rows/declared.ts'
import { type RecordMeaning, rowsOf, timesOf } from '../rows/records.ts'
import type { Row } from '../rows/row.ts'
import { eventsOf } from '../rows/rows.ts'

const NAME = 'metrics.csv'
const FILE = 'source/table.csv'
const MAX_COLUMNS = 1000

export function lightningCsv(source: SourceOf<'lightning-csv'>): Reader {
  const times = timesOf(source.keys)
  // Lightning's own numbers, of steps and of evaluations, are those of the step before.
  const meaning = { ...source, first_step: source.first_step ?? 0 }
  return {
    name: source.format,
    title: NAME,
    facts: factsOf(source, times, source.keys.samples !== undefined),
    files: [FILE],
    maxBytes: 64 * 1024 * 1024,
    liveFile: null,
    liveEvent: () => null,
    collected: {
      target: FILE,
      pattern: `${TRAINER_FOLDER}/${source.file ?? `**/${NAME}`}`,
      choice: 'only',
      converter: null,
    },
    read: (content) => eventsOf(NAME, rowsIn(content(FILE), meaning), source, times),
  }
}

async function* rowsIn(pieces: AsyncIterable<Uint8Array>, meaning: RecordMeaning): AsyncGenerator<Row> {
  let columns: readonly string[] | null = null
  let number = 0
  for await (const line of linesOf(pieces)) {
    number += 1
    const where = `${NAME} line ${number}`
    const cells = cellsOf(line)
    if (cells.length === 1 && cells[0] === '') continue
    if (columns === null) {
      columns = cells.map(withoutByteOrderMark)
      const problem = headerProblem(columns, meaning)
      if (problem !== null) yield { kind: 'problem', problem: problemAt(where, 'malformed', problem) }
      continue
    }
    if (cells.length !== columns.length) {
      const reason = `has ${cells.length} cells, expected ${columns.length} as in its first line; it may be cut off`
      yield { kind: 'problem', problem: problemAt(where, 'truncated', reason) }
      continue
    }
    const values = Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? '']))
    yield* rowsOf({ where, characters: line.length, values }, meaning)
  }
}

function headerProblem(columns: readonly string[], { keys }: RecordMeaning): string | null {
  if (columns.length > MAX_COLUMNS) return `has ${columns.length} columns, expected at most ${MAX_COLUMNS}`
  const missing = [keys.step, keys.val_loss, keys.step_seconds, keys.time, keys.samples].find(
    (key) => key !== undefined && !columns.includes(key),
  )
  return missing === undefined
    ? null
    : `has no column ${missing}, only ${columns.slice(0, 20).join(', ')}; log it with self.log, or name another column under metrics.keys`
}

/** No line break is in a quoted cell: names of metrics and numbers have none. */
function cellsOf(line: string): string[] {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line
  if (!text.includes('"')) return text.split(',')
  const cells = text.match(/(?:^|,)(?:"(?:[^"]|"")*"|[^,]*)/g) ?? []
  return cells.map((cell) => {
    const bare = cell.startsWith(',') ? cell.slice(1) : cell
    return bare.startsWith('"') ? bare.slice(1, -1).replaceAll('""', '"') : bare
  })
}
