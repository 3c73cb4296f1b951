// Makes one line of untrusted text safe to print where the GitHub runner reads commands.
import { stripVTControlCharacters } from 'node:util'

const MAX_CHARACTERS = 400
/** Visible, so that no trimming of blanks brings a `::command::` to the start of a line. */
const PREFIX = '│ '
const CUT_MARK = ' … (cut)'

// C0, DEL and C1; line and paragraph separators; marks that reorder or hide what is beside them.
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu

/** `wasCut`: the end of the line was already dropped by its reader. */
export function sanitizeLine(raw: string, wasCut = false): string {
  const text = plainText(raw)
  const shown = text.slice(0, MAX_CHARACTERS).toWellFormed()
  return `${PREFIX}${shown}${wasCut || text.length > MAX_CHARACTERS ? CUT_MARK : ''}`
}

/** One line without escape sequences, control characters or runner commands. */
export function plainText(raw: string): string {
  const visible = stripVTControlCharacters(raw.toWellFormed()).replaceAll('\t', ' ').replace(UNPRINTABLE, '')
  // Last, since the removals above can bring the pieces together. The runner takes ##[command] anywhere.
  return visible.replaceAll('##[', '# #[')
}
