// Reads GITHUB_OUTPUT and GITHUB_STATE files as the runner does (FileCommandManager.cs of github.com/actions/runner).

/** Lines `name=value`, or `name<<DELIMITER`, value lines, `DELIMITER`. Throws where the runner fails the step. */
export function parseKeyValueFile(text: string): Record<string, string> {
  const values: Record<string, string> = {}
  // On Linux only a line feed ends a line here.
  const lines = text.replace(/\n$/, '').split('\n')
  while (lines.length > 0) {
    const line = lines.shift() ?? ''
    if (line === '') continue
    const equals = line.indexOf('=')
    const heredoc = line.indexOf('<<')
    if (equals >= 0 && (heredoc < 0 || equals < heredoc)) {
      values[line.slice(0, equals)] = line.slice(equals + 1)
    } else if (heredoc > 0 && heredoc + 2 < line.length) {
      values[line.slice(0, heredoc)] = takeHeredoc(lines, line.slice(heredoc + 2))
    } else {
      throw new Error(`Invalid format '${line}'`)
    }
  }
  return values
}

function takeHeredoc(lines: string[], delimiter: string): string {
  const end = lines.indexOf(delimiter)
  if (end < 0) throw new Error(`Matching delimiter not found '${delimiter}'`)
  const value = lines.splice(0, end + 1)
  return value.slice(0, -1).join('\n')
}
