// Makes untrusted text harmless in a cell of a GitHub Markdown table.

/** Longest text of a cell in characters; a longer one is cut, so that no cell hides the table. */
export const MAX_CELL_CHARACTERS = 300

// Everything that Markdown, HTML, tables or math could read as more than a character.
const SPECIAL = /[&<>|`*_~[\]!\\$"']/g
// Line ends and tabs of every kind become one space, so that a cell stays a cell.
const BLANKS = /[\s\u0085]+/g
// Controls, and the characters that turn or hide text: a name must read as it is written.
const INVISIBLE = /[\p{Cc}\u00AD\u061C\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF]/gu
// GitHub finds mentions (@name), references (#1, GH-1) and addresses in the rendered text, where a character
// reference is a plain character again: only something between the two characters stops it.
const LINKING = /@|#|\bGH-|:(?=\/\/)|\bwww(?=\.)/gi
const ZERO_WIDTH_SPACE = '\u200B'

export function escapeCell(text: string, maxCharacters = MAX_CELL_CHARACTERS): string {
  return cutCharacters(unbroken(text), maxCharacters)
    .replace(SPECIAL, (character) => `&#${character.charCodeAt(0)};`)
    .replace(LINKING, (start, offset: number, whole: string) =>
      isCharacterReference(whole, offset) ? start : `${start}${ZERO_WIDTH_SPACE}`,
    )
}

/** Untrusted text that stays in its line, moves no cursor and is no command: the runner takes ##[command] anywhere. */
export function oneLine(text: string): string {
  return unbroken(text).replaceAll('##[', '# #[')
}

/** In one line, without characters that turn or hide text. */
export function unbroken(text: string): string {
  return text.toWellFormed().replace(BLANKS, ' ').replace(INVISIBLE, '').trim()
}

/** The # of the `&#124;` that escaping has just written. */
function isCharacterReference(text: string, offset: number): boolean {
  return text[offset] === '#' && text[offset - 1] === '&'
}

export function cutCharacters(text: string, maxCharacters: number): string {
  const characters = Array.from(text)
  return characters.length <= maxCharacters ? text : `${characters.slice(0, maxCharacters - 1).join('')}…`
}
