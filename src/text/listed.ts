/** The first few of many, so that no text grows with its input. */
export function listed(items: readonly string[], most = 4): string {
  const more = items.length > most ? ` and ${items.length - most} more` : ''
  return `${items.slice(0, most).join(', ')}${more}`
}
