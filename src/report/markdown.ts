// A result -> its Markdown report, section by section.
import type { Result } from '../record/result.ts'
import type { CommentSection } from './github/comment.ts'
import { SECTIONS } from './sections/index.ts'

export function renderSections(result: Result): CommentSection[] {
  return SECTIONS.map((section) => section(result)).filter(({ markdown }) => markdown !== '')
}

export function renderMarkdown(result: Result): string {
  return joinSections(renderSections(result))
}

export function joinSections(sections: readonly CommentSection[]): string {
  return `${sections
    .map(({ markdown }) => markdown)
    .filter((markdown) => markdown !== '')
    .join('\n\n')}\n`
}
