// How the report of a ladder is written on a terminal, and as Markdown.
import { escapeCell, oneLine } from '../../report/escape.ts'

export interface Style {
  /** Makes untrusted text harmless in a cell. */
  readonly cell: (text: string) => string
  /** The same in a line of its own, which may be long. */
  readonly line: (text: string) => string
  readonly heading: (text: string) => string
  readonly item: (text: string) => string
}

const MAX_LINE_CHARACTERS = 2000

export const TERMINAL: Style = {
  cell: oneLine,
  line: oneLine,
  heading: (text) => text,
  item: (text) => `  ${text}`,
}
export const MARKDOWN: Style = {
  cell: escapeCell,
  line: (text) => escapeCell(text, MAX_LINE_CHARACTERS),
  heading: (text) => `## ${text}\n`,
  item: (text) => `- ${text}`,
}
