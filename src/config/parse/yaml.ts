// YAML text -> plain data; every syntax error names file, line and remedy.
import {
  type Document,
  type ErrorCode,
  isAlias,
  isCollection,
  isNode,
  isScalar,
  parseDocument,
  visit,
} from 'yaml'
import { ConfigError } from '../../errors.ts'

/** Merge keys (<<) are of YAML 1.1, but configs have them, and the reader of the trainer knows them. */
export const YAML_OPTIONS = {
  version: '1.2',
  merge: true,
  uniqueKeys: true,
  prettyErrors: true,
  strict: true,
} as const

/**
 * `file`: a file that we read alone. `flag`: of a command line, whose text no YAML 1.1 parser reads and where the shell
 * removes quotes. `copied`: a file that is handed to a trainer, whose reader decides what `yes` and 010 are: here they
 * are texts.
 */
type Reading = 'file' | 'flag' | 'copied'

export function parseYaml(text: string, file: string, reading: Reading = 'file'): unknown {
  if (text.trim() === '') throw new ConfigError(`${file}: is empty; expected YAML`)
  const document = parseDocument(text, YAML_OPTIONS)
  const problem = document.errors[0] ?? document.warnings[0]
  if (problem) {
    const line = problem.linePos?.[0].line ?? 1
    const what =
      problem.code === 'MULTIPLE_DOCS' ? 'got a second document, expected one' : firstLine(problem.message)
    throw new ConfigError(
      `${file}, line ${line}: not valid YAML: ${what}; ${remedy(problem.code, what, text, line)}`,
    )
  }
  refuseUnknownAlias(document, text, file)
  refuseChangedKeys(document, text, file)
  refuseLostKeys(document, text, file)
  if (reading === 'copied') keepUnclear(document)
  else refuseChangedNumbers(document, text, file)
  if (reading === 'file') refuseOldForms(document, text, file)
  const value = plainData(document, file)
  const misfit = findMisfit(value, [])
  if (misfit !== null) throw new ConfigError(`${file}: ${misfit}`)
  return value
}

/** Only data in the making would find it, and without its line. */
function refuseUnknownAlias(document: Document.Parsed, text: string, file: string): void {
  visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) !== undefined) return
      throw new ConfigError(
        `${file}, line ${lineOf(text, alias.range)}: not valid YAML: *${alias.source} has no anchor before it; set &${alias.source} first, or ${QUOTES}`,
      )
    },
  })
}

/** Booleans to PyYAML, which reads YAML 1.1; texts in YAML 1.2, which are true to who asks only whether there is something. */
const OLD_BOOLEAN = /^(yes|no|on|off)$/i

/** 8, 1000, 5 and 90 to PyYAML: octal, with separators, binary, and in base 60. */
const OLD_NUMBER = /^[-+]?(0[\d_]*[1-9][\d_]*|\d[\d_]*_[\d_]*(\.\d*)?|0b[01_]+|\d+(:[0-5]?\d)+(\.\d*)?)$/

function refuseOldForms(document: Document.Parsed, text: string, file: string): void {
  visit(document, {
    Scalar(place, { type, tag, source = '', range }) {
      if (place === 'key' || type !== 'PLAIN' || tag !== undefined) return
      const where = `${file}, line ${lineOf(text, range)}: got ${source}`
      if (OLD_BOOLEAN.test(source))
        throw new ConfigError(`${where}, expected true or false, or "${source}" in quotes for a string`)
      if (OLD_NUMBER.test(source))
        throw new ConfigError(
          `${where}, which readers of YAML take for different values; write a plain decimal number, or "${source}" in quotes for a string`,
        )
    },
  })
}

/** What two readers may take for two values, or JSON has no word for, is its own text. */
function keepUnclear(document: Document.Parsed): void {
  visit(document, {
    Scalar(place, node) {
      const { type, tag, source = '', value } = node
      if (place === 'key' || type !== 'PLAIN' || tag !== undefined) return
      const isInexact = typeof value === 'number' && (!Number.isFinite(value) || !isExact(value, source))
      if (OLD_BOOLEAN.test(source) || OLD_NUMBER.test(source) || isInexact) node.value = source
    },
  })
}

function isExact(value: number, source: string): boolean {
  if (value === 0) return !/^[-+.0]*[1-9]/.test(source)
  return Number.isSafeInteger(value) || !/^[-+]?\d+$|^0[xo]/.test(source)
}

/** A list or mapping as a key would become a made-up string: {{ name }} is a mapping as the key of another. */
function refuseChangedKeys(document: Document.Parsed, text: string, file: string): void {
  visit(document, {
    Pair(_, { key }) {
      const target = isAlias(key) ? key.resolve(document) : key
      if (!isCollection(target) || !isNode(key)) return
      const [start = 0, end = start] = key.range ?? []
      const shown = firstLine(text.slice(start, end).trim())
      throw new ConfigError(
        `${file}, line ${lineOf(text, key.range)}: got ${shown} as a key, expected a string. Put it in quotes; quote a template as a whole: "{{ name }}"`,
      )
    },
  })
}

/** Keys of a config are texts: of 1 and "1", one would be gone. */
function refuseLostKeys(document: Document.Parsed, text: string, file: string): void {
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<string>()
      for (const { key } of items) {
        const named = isAlias(key) ? key.resolve(document) : key
        if (!isScalar(named) || typeof named.value === 'symbol') continue // a merge key
        const name = named.value === null ? '' : String(named.value)
        if (seen.has(name))
          throw new ConfigError(
            `${file}, line ${lineOf(text, isNode(key) ? key.range : null)}: got the key ${name === '' ? '""' : name} twice, with quotes and without; to the trainer they are the same key. Remove one`,
          )
        seen.add(name)
      }
    },
  })
}

/** No double holds every larger whole number, or one so near to 0: the trainer would get another one. */
function refuseChangedNumbers(document: Document.Parsed, text: string, file: string): void {
  visit(document, {
    Scalar(_, { value, source = '', range }) {
      if (typeof value !== 'number') return
      if (value === 0 && /^[-+.0]*[1-9]/.test(source))
        throw new ConfigError(
          `${file}, line ${lineOf(text, range)}: got ${source}, which would reach the trainer as 0; write 0, or a number of at least 5e-324`,
        )
      if (Number.isSafeInteger(value)) return
      if (!/^[-+]?\d+$|^0[xo]/.test(source)) return
      throw new ConfigError(
        `${file}, line ${lineOf(text, range)}: got ${source}, expected a whole number from -${MOST} to ${MOST}. A larger one would reach the trainer changed. Use a smaller one, or "${source}" in quotes for a string`,
      )
    },
  })
}

const MOST = Number.MAX_SAFE_INTEGER

function lineOf(text: string, range: readonly number[] | null | undefined): number {
  return text.slice(0, range?.[0] ?? 0).split('\n').length
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

/** A config is handed on as JSON: .nan and .inf would be null there, !!omap and !!set {}, and no circle can be. */
function findMisfit(value: unknown, above: readonly Place[]): string | null {
  const where = above.map(({ key }) => key).join('.') || 'the file'
  if (typeof value === 'number' && !Number.isFinite(value))
    return `${where}: got ${value}, expected a finite number`
  if (typeof value !== 'object' || value === null) return null
  if (above.some((place) => place.value === value))
    return `${where}: got an alias to a value that contains it; write the value out`
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value))
    return `${where}: got a tag !!omap, !!set or !!binary, whose content would be lost. Remove the tag, and write a plain mapping, list or string`
  for (const [key, inner] of Object.entries(value)) {
    if (isUnusable(key)) return unusableText([...above.map((place) => place.key), key].join('.'))
    const misfit = findMisfit(inner, [...above, { key, value }])
    if (misfit !== null) return misfit
  }
  return null
}

/** Parsers drop it without a word, since no object can safely have it: a gate of this name would be gone. */
export function isUnusable(key: string): boolean {
  return key.split('.').includes('__proto__')
}

export function unusableText(path: string): string {
  return `${path}: unknown key; no gate, setting or variable can have this name. Remove it`
}

function firstLine(message: string): string {
  return (
    message
      .split('\n', 1)[0]
      ?.replace(/:$/, '')
      .replace(/ at line \d+, column \d+/, '') ?? ''
  )
}

function remedy(code: ErrorCode, what: string, text: string, line: number): string {
  const before = text.split('\n').slice(0, line)
  if (before.some((row) => /^\s*\t/.test(row))) return TABS
  if (code === 'BAD_INDENT' && what.startsWith('Flow')) return 'close each open bracket, and no other'
  return REMEDIES[code] ?? 'check the brackets, quotes, colons and indentation up to this line'
}

const TABS = 'indent with spaces, YAML does not allow tabs'
const QUOTES = 'put a string with special characters in quotes'
const INDENT = 'give all keys of a mapping, and all items of a list, the same indentation'

const REMEDIES: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: QUOTES,
  BAD_DQ_ESCAPE: 'write a backslash twice in double quotes, or use single quotes',
  BAD_INDENT: INDENT,
  BAD_SCALAR_START: QUOTES,
  BLOCK_AS_IMPLICIT_KEY: 'write one key per line, or put a string that has a colon in quotes',
  BLOCK_IN_FLOW: 'close the bracket first, or write the list or mapping on lines of its own',
  DUPLICATE_KEY: 'remove one of them',
  MISSING_CHAR: 'close what is open: a bracket, a quote, or a key without its colon',
  MULTILINE_IMPLICIT_KEY: `put a colon and a space after the key; ${INDENT}`,
  MULTIPLE_DOCS: 'remove the line with --- and what follows',
  TAB_AS_INDENT: TABS,
  TAG_RESOLVE_FAILED: 'remove the tag',
}
