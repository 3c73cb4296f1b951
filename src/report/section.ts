// What the report's sections share: their shape, a folded part, a table.
import { markdownTable } from 'markdown-table'
import type { Result } from '../record/result.ts'
import type { CommentSection } from './github/comment.ts'

/** One part of the report; an empty text leaves it out. */
export type Section = (result: Result) => CommentSection

export function folded(title: string, markdown: string): string {
  return `<details><summary>${title}</summary>\n\n${markdown}\n\n</details>`
}

export function table(rows: readonly (readonly string[])[]): string {
  return markdownTable(rows.map((row) => [...row]))
}
