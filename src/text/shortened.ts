/** A text of somebody else's, so that no sentence grows with it. */
export function shortened(text: string, most = 60): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
}
