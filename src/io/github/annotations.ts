// Writes the step's annotations: the lines that GitHub shows on the run's page and beside the check.
import { error, notice, warning } from '@actions/core'

export interface Annotation {
  level: 'error' | 'warning' | 'notice'
  title: string
  message: string
}

// GitHub shows ten of a level for a step, and the runner cuts a message at 4,096 characters.
const MAX_PER_LEVEL = 10
const MAX_TITLE_CHARACTERS = 200
const MAX_MESSAGE_CHARACTERS = 4000

const WRITERS = { error, warning, notice }

/** Call once per step: GitHub's limit counts the whole step. Past it, the tenth says how many were left out. */
export function annotate(annotations: readonly Annotation[]): void {
  for (const level of ['error', 'warning', 'notice'] as const) {
    for (const { title, message } of withinLimit(annotations.filter((one) => one.level === level))) {
      WRITERS[level](cut(message, MAX_MESSAGE_CHARACTERS), { title: cut(title, MAX_TITLE_CHARACTERS) })
    }
  }
}

function withinLimit(sameLevel: readonly Annotation[]): readonly Pick<Annotation, 'title' | 'message'>[] {
  if (sameLevel.length <= MAX_PER_LEVEL) return sameLevel
  const shown = sameLevel.slice(0, MAX_PER_LEVEL - 1)
  const leftOut = sameLevel.slice(MAX_PER_LEVEL - 1)
  const titles = leftOut.map((one) => one.title).join('; ')
  return [...shown, { title: `${leftOut.length} more, see the job summary`, message: titles }]
}

function cut(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1).toWellFormed()}…`
}
