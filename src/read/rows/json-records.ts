// Lines of JSON -> records, or what is wrong with a line.
import { isMapping } from '../../config/same-work/differences.ts'
import { type MetricsProblem, problemAt } from '../event-problems.ts'
import { parseForeignJson, withoutByteOrderMark } from '../json-line.ts'
import { linesOf } from '../lines.ts'
import type { SourceRecord } from './records.ts'

const LINES = {
  missing: 'check whether the training diverged. Where there is no number, leave the key out',
  remedy: 'name a file that has one JSON object a line',
  cause: 'cut off, or written by several ranks: check that only rank 0 writes the file',
}

/** Longer is no line of numbers, and what is parsed takes many times its size. */
const MAX_CHARACTERS = 1024 * 1024

export async function* jsonRecords(
  name: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<SourceRecord | { readonly problem: MetricsProblem }> {
  let number = 0
  for await (const text of linesOf(pieces)) {
    number += 1
    const line = number === 1 ? withoutByteOrderMark(text) : text
    if (line.trim() !== '') yield jsonRecord(line, `${name} line ${number}`)
  }
}

export function jsonRecord(line: string, where: string): SourceRecord | { readonly problem: MetricsProblem } {
  if (line.length > MAX_CHARACTERS)
    return { problem: problemAt(where, 'too-large', `has more than ${MAX_CHARACTERS} characters`) }
  const parsed = parseForeignJson(line, LINES)
  if (parsed.status !== 'parsed') return { problem: problemAt(where, parsed.status, parsed.reason) }
  return isMapping(parsed.json)
    ? { where, characters: line.length, values: parsed.json }
    : { problem: problemAt(where, 'malformed', `is no JSON object; ${LINES.remedy}`) }
}
