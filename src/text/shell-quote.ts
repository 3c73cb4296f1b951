// A word of a command as it is typed.

/** For a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[\w./:=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
