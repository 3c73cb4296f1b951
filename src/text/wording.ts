// How a list, a long text and a status are put into words.

/** The first few of many, so that no text grows with its input. */
export function listed(items: readonly string[], most = 4): string {
  const more = items.length > most ? ` and ${items.length - most} more` : ''
  return `${items.slice(0, most).join(', ')}${more}`
}

/** A text of somebody else's, so that no sentence grows with it. */
export function shortened(text: string, most = 60): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
}

/** A status as it is read: "not-measured" as "not measured". */
export function statusText(status: string): string {
  return status.replaceAll('-', ' ')
}

/** Up to the first full stop that ends a sentence; the whole text where none does. */
export function firstSentence(text: string): string {
  return /^.*?[.?!](?= |$)/s.exec(text)?.[0] ?? text
}
