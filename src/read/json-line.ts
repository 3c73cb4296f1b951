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

/** Python writes NaN and Infinity, which are not JSON. In a file of another format they become text, which is wrong only where it is read. */
export function parseForeignJson(text: string, words: Parameters<typeof parseJsonLine>[1]): JsonLine {
  const parsed = parseJsonLine(text, words)
  if (parsed.status !== 'not-finite') return parsed
  try {
    return { status: 'parsed', json: parseBounded(withNonFiniteAsText(text), LINE_LIMITS) }
  } catch {
    return parsed
  }
}

/** By hand over strings, since on a long text a regular expression for them can take too long. */
function withNonFiniteAsText(text: string): string {
  const tokens = /"|-?(?:NaN|Infinity)/g
  const parts: string[] = []
  let copied = 0
  for (let token = tokens.exec(text); token !== null; token = tokens.exec(text)) {
    if (token[0] === '"') {
      tokens.lastIndex = endOfString(text, token.index)
      continue
    }
    parts.push(text.slice(copied, token.index), `"${token[0]}"`)
    copied = tokens.lastIndex
  }
  return [...parts, text.slice(copied)].join('')
}

/** Right behind the quotation mark that ends it. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1
    else if (text[index] === '"') return index + 1
  }
  return text.length
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
