// YAML text -> plain data; every syntax error names file, line and remedy.
import { parseDocument } from 'yaml'
import { ConfigError } from '../errors.ts'

export function parseYaml(text: string, file: string): unknown {
  // maxAliasCount: a few lines of nested aliases can expand to gigabytes.
  const document = parseDocument(text, { version: '1.2', uniqueKeys: true, prettyErrors: true, strict: true })
  const problem = document.errors[0] ?? document.warnings[0]
  if (problem) {
    const line = problem.linePos?.[0].line ?? 1
    throw new ConfigError(
      `${file}, line ${line}: not valid YAML: ${firstLine(problem.message)}${remedy(text, line)}`,
    )
  }
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new ConfigError(
      `${file}: not usable YAML: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

function firstLine(message: string): string {
  return (
    message
      .split('\n', 1)[0]
      ?.replace(/:$/, '')
      .replace(/ at line \d+, column \d+/, '') ?? ''
  )
}

function remedy(text: string, line: number): string {
  const before = text.split('\n').slice(0, line)
  return before.some((row) => /^\s*\t/.test(row)) ? '; indent with spaces, YAML does not allow tabs' : ''
}
