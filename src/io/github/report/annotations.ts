// Writes an annotation of the step: a line that GitHub shows on the run's page and next to the check.
import { error, notice, warning } from '@actions/core'

export interface Annotation {
  level: 'error' | 'warning' | 'notice'
  title: string
  message: string
}

const MAX_TITLE_CHARACTERS = 200
// The runner cuts a message at 4,096.
const MAX_MESSAGE_CHARACTERS = 4000

const WRITERS = { error, warning, notice }

/** GitHub shows ten of a level for a step. */
export function annotate({ level, title, message }: Annotation): void {
  WRITERS[level](cut(message, MAX_MESSAGE_CHARACTERS), { title: cut(title, MAX_TITLE_CHARACTERS) })
}

function cut(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1).toWellFormed()}…`
}
