// One line of a file of a trainer -> what it holds, or why that is no JSON.

/** Of a line that is no JSON. */
const SHOWN_CHARACTERS = 60

export type JsonLine =
  | { readonly status: 'parsed'; readonly json: unknown }
  | { readonly status: 'not-finite' | 'truncated' | 'malformed'; readonly reason: string }

/** `missing`: what a trainer does where it has no number; `remedy`: what the lines of this file are. */
export function parseJsonLine(
  line: string,
  { missing, remedy }: Readonly<Record<'missing' | 'remedy', string>>,
): JsonLine {
  try {
    return { status: 'parsed', json: JSON.parse(line) }
  } catch {
    const token = line.match(/(?<![\w"])-?(?:NaN|Infinity)(?![\w"])/)?.[0]
    if (token) return { status: 'not-finite', reason: `${token} is not a number; ${missing}` }
    const shown = JSON.stringify(
      line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line,
    )
    return line.startsWith('{')
      ? { status: 'truncated', reason: `not valid JSON (${line.length} characters, cut off?): ${shown}` }
      : { status: 'malformed', reason: `not valid JSON: ${shown}; ${remedy}` }
  }
}

/** Editors and PowerShell begin a file with one, which is none of its text. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}
