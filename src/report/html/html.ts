// HTML from templates in which every text is escaped, unless it is HTML that a template has made.
import { cutCharacters, unbroken } from '../escape.ts'

/** Only a template makes one, so that text from outside cannot pass for HTML. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type HtmlValue = string | number | Html | null | readonly HtmlValue[]

export const NOTHING = new Html('')

export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.map((part, index) => part + textOf(values[index] ?? null)).join(''))
}

function textOf(value: HtmlValue): string {
  if (value === null) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(textOf).join('')
  return typeof value === 'number' ? String(value) : escapeHtml(String(value))
}

/** A longer text is cut, so that none hides the rest of the page. */
const MAX_TEXT_CHARACTERS = 600

/** For text and for a quoted attribute. In one line, without characters that turn or hide text. */
export function escapeHtml(text: string, maxCharacters = MAX_TEXT_CHARACTERS): string {
  const [before, after] = [/^\s/, /\s$/].map((blank) => (blank.test(text) ? ' ' : ''))
  return `${before}${escapeMarkup(cutCharacters(unbroken(text), maxCharacters))}${after}`
}

/** Keeps its lines: for a command that is to be copied whole. */
export function preformatted(text: string): Html {
  const lines = text.split('\n').map((line) => escapeHtml(line, MAX_COMMAND_CHARACTERS))
  return new Html(lines.slice(0, MAX_COMMAND_LINES).join('\n'))
}

const MAX_COMMAND_CHARACTERS = 4000
const MAX_COMMAND_LINES = 40

function escapeMarkup(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** For a script element that is no script: nothing in it can end it, and JSON reads it as it was. */
export function jsonText(value: unknown): Html {
  return new Html(JSON.stringify(value).replaceAll('<', '\\u003c'))
}
