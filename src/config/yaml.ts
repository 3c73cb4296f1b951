// YAML text -> plain data; every syntax error names file, line and remedy.
import { type Document, parseDocument } from 'yaml'
import { ConfigError } from '../errors.ts'

export function parseYaml(text: string, file: string): unknown {
  if (text.trim() === '') throw new ConfigError(`${file}: is empty; expected YAML`)
  const document = parseDocument(text, { version: '1.2', uniqueKeys: true, prettyErrors: true, strict: true })
  const problem = document.errors[0] ?? document.warnings[0]
  if (problem) {
    const line = problem.linePos?.[0].line ?? 1
    const what =
      problem.code === 'MULTIPLE_DOCS' ? 'a second document; expected one' : firstLine(problem.message)
    throw new ConfigError(`${file}, line ${line}: not valid YAML: ${what}${remedy(text, line)}`)
  }
  const value = plainData(document, file)
  const misfit = findMisfit(value, [])
  if (misfit !== null) throw new ConfigError(`${file}: ${misfit}`)
  return value
}

function plainData(document: Document.Parsed, file: string): unknown {
  try {
    // A few lines of nested aliases can expand to gigabytes.
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new ConfigError(
      `${file}: not usable YAML: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

interface Place {
  readonly key: string
  readonly value: unknown
}

/** A config is handed on as JSON, which would turn .nan and .inf into null and cannot hold a circle. */
function findMisfit(value: unknown, above: readonly Place[]): string | null {
  const where = above.map(({ key }) => key).join('.') || 'the file'
  if (typeof value === 'number' && !Number.isFinite(value))
    return `${where}: got ${value}, expected a finite number`
  if (typeof value !== 'object' || value === null) return null
  if (above.some((place) => place.value === value))
    return `${where}: an alias to what it stands in; write its value out`
  for (const [key, inner] of Object.entries(value)) {
    const misfit = findMisfit(inner, [...above, { key, value }])
    if (misfit !== null) return misfit
  }
  return null
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
