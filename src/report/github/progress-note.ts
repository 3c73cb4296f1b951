// The note over a comment while the next result is measured; what was measured before stays below it.

const END = '<!-- speedproof note end -->'

/** `earlier`: the text of the comment without its marker; '' for none. */
export function withNote(earlier: string, note: string): string {
  const result = withoutNote(earlier)
  const below = result === '' ? '' : `\n\nBelow is the result of an earlier run.\n${END}\n${result}`
  return `> ${note}${below}`
}

function withoutNote(text: string): string {
  const end = text.indexOf(END)
  if (end >= 0) return text.slice(end + END.length).trim()
  return text.startsWith('> ') ? '' : text.trim()
}
