// One line of a file of a trainer -> what it holds, or why that is no JSON.
import { JsonLimitError, LINE_LIMITS, parseBounded } from '../text/bounded-json.ts'
import { shortened } from '../text/wording.ts'

/** Of a line that is no JSON. */
const SHOWN_CHARACTERS = 60

export type JsonLine =
  | { readonly status: 'parsed'; readonly json: unknown }
  | { readonly status: 'not-finite' | 'truncated' | 'malformed' | 'too-large'; readonly reason: string }

/**
 * `missing`: what a trainer does where it has no number; `remedy`: what the lines of this file are; `cause`: why one
 * that begins as an object may be none.
 */
export function parseJsonLine(
  line: string,
  { missing, remedy, cause }: Readonly<Record<'missing' | 'remedy' | 'cause', string>>,
): JsonLine {
  try {
    return { status: 'parsed', json: parseBounded(line, LINE_LIMITS) }
  } catch (error) {
    if (error instanceof JsonLimitError) return { status: 'too-large', reason: error.message }
    const found = /(?<![\w"])-?(?:NaN|Infinity)(?![\w"])/.exec(line)
    if (found) {
      const key = keyBefore(line, found.index)
      return { status: 'not-finite', reason: `${key}${found[0]} is not a number; ${missing}` }
    }
    const shown = JSON.stringify(shortened(line, SHOWN_CHARACTERS))
    return line.startsWith('{')
      ? { status: 'truncated', reason: `not valid JSON (${line.length} characters, ${cause}): ${shown}` }
      : { status: 'malformed', reason: `not valid JSON: ${shown}; ${remedy}` }
  }
}

/** Of a value, or of the list that it stands in, as `key: `; empty where it cannot be told. */
function keyBefore(line: string, position: number): string {
  const end = line.lastIndexOf('":', position)
  const start = line.lastIndexOf('"', end - 1) + 1
  const key = line.slice(start, end)
  const isPlain = end > 0 && key.length <= SHOWN_CHARACTERS && !/[\]}]/.test(line.slice(end, position))
  return isPlain ? `${key}: ` : ''
}

/** Editors and PowerShell begin a file with one, which is not part of its text. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}
