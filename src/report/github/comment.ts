// Fits a report into GitHub's comment limit by leaving out what matters least.
import { listed } from '../../text/wording.ts'

/** 'verdict' and 'link' always stay; the others give way from the last of YIELDING to the first. */
export interface CommentSection {
  kind: 'verdict' | 'rows' | 'chart' | 'details' | 'logs' | 'link'
  /** How the note at the end calls it when it is left out, for example 'log of run 3'. */
  title: string
  markdown: string
}

/**
 * GitHub refuses a body over 65,536 characters. It counts code points (by some reports only 262,144 bytes);
 * String.length is never less than either allows. The difference leaves room for the marker.
 */
export const COMMENT_BUDGET = 60_000

const YIELDING = ['rows', 'chart', 'details', 'logs'] as const
const BETWEEN = '\n\n'
const MAX_NOTE_TITLES = 8

export function fitComment(sections: readonly CommentSection[], budget = COMMENT_BUDGET): string {
  let kept = sections
  const leftOut: string[] = []
  for (const kind of YIELDING.toReversed()) {
    for (const section of sections.filter((one) => one.kind === kind).toReversed()) {
      if (join(kept, leftOut).length <= budget) return join(kept, leftOut)
      leftOut.unshift(kind === 'rows' ? `rows of ${section.title}` : section.title)
      kept = shorten(kept, section, budget - (join(kept, leftOut).length - section.markdown.length))
    }
  }
  const text = join(kept, leftOut)
  return text.length <= budget ? text : join(cutVerdict(kept, text.length - budget), leftOut).slice(0, budget)
}

/** A table keeps the rows that fit; anything else would be cut in the middle of a block, so it goes whole. */
function shorten(
  sections: readonly CommentSection[],
  section: CommentSection,
  room: number,
): readonly CommentSection[] {
  const markdown = section.kind === 'rows' ? firstRows(section.markdown, room) : ''
  if (markdown === '') return sections.filter((one) => one !== section)
  return sections.map((one) => (one === section ? { ...section, markdown } : one))
}

function firstRows(table: string, room: number): string {
  if (room <= 0) return ''
  const end = table.lastIndexOf('\n', room)
  const cut = table.slice(0, Math.max(0, end))
  // Header and separator alone say nothing.
  return cut.split('\n').length > 2 ? cut : ''
}

function cutVerdict(sections: readonly CommentSection[], excess: number): readonly CommentSection[] {
  return sections.map((one) => {
    if (one.kind !== 'verdict') return one
    const end = Math.max(0, one.markdown.length - excess - 1)
    return { ...one, markdown: `${one.markdown.slice(0, end).toWellFormed()}…` }
  })
}

function join(sections: readonly CommentSection[], leftOut: readonly string[]): string {
  const parts = sections.map((one) => one.markdown)
  return [...parts, ...note(leftOut)].filter((part) => part !== '').join(BETWEEN)
}

function note(leftOut: readonly string[]): string[] {
  if (leftOut.length === 0) return []
  return [
    `> Left out to fit GitHub's comment limit: ${listed(leftOut, MAX_NOTE_TITLES)}. The job summary and the artifact have all.`,
  ]
}
