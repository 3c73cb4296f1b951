// A zod error -> one line per problem: where, what was found, what was expected.
import type { z } from 'zod'
import { ConfigError } from '../../errors.ts'

export type Issue = z.core.$ZodIssue

/** A person mends a few at a time, and a hostile record may have a million. */
const MOST_ISSUES = 20

/** Parses `value` by `schema`; throws a ConfigError that names `source`, key, value and remedy of every problem. */
export function parseStrictly<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  source: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  const lines = issues.slice(0, MOST_ISSUES).map((issue) => `${source}: ${explain(issue, value)}`)
  const more = issues.length > MOST_ISSUES ? [`${source}: ${issues.length - MOST_ISSUES} more problems`] : []
  throw new ConfigError([...lines, ...more].join('\n'))
}

/** Key, value and what was expected; `whole` names what has no key. */
export function explain(issue: Issue, root: unknown, whole = 'the file'): string {
  const where = issue.path.join('.') || whole
  const found = valueAt(root, issue.path)
  if (issue.code === 'unrecognized_keys') {
    const prefix = issue.path.length > 0 ? `${issue.path.join('.')}.` : ''
    const named = issue.keys.slice(0, MOST_ISSUES)
    return named.map((key) => `${prefix}${key}: unknown key${suggestion(issue.message)}`).join('; ')
  }
  if (found === undefined) return `${where}: missing; expected ${expectation(issue)}`
  return `${where}: got ${show(found)}, expected ${expectation(issue)}`
}

function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return article(issue.expected)
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`
    case 'too_small':
      return `${sizeOf(issue.origin)}${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
    case 'too_big':
      return `${sizeOf(issue.origin)}${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`
    case 'invalid_union': // of events, or of kinds
      return 'options' in issue && Array.isArray(issue.options)
        ? `one of ${issue.options.join(', ')}`
        : issue.message
    case 'invalid_key':
      return issue.issues[0]?.message ?? issue.message
    default:
      return issue.message
  }
}

function sizeOf(origin: string): string {
  if (origin === 'string') return 'a string of length '
  return origin === 'array' ? 'a list of length ' : ''
}

function article(type: string): string {
  const names: Record<string, string> = {
    object: 'a mapping',
    record: 'a mapping',
    array: 'a list',
    string: 'a string (in quotes, if it looks like a number)',
    boolean: 'true or false',
    number: 'a finite number',
    int: 'a whole number',
  }
  return names[type] ?? type
}

/** Schemas put the known keys into their own message: `knownKeys` below. */
function suggestion(message: string): string {
  return message.startsWith('known keys') ? ` (${message})` : ''
}

/** Error text for z.strictObject, so that an unknown key is answered with the known ones. */
export function knownKeys(keys: readonly string[]): {
  error: (issue: { code: string }) => string | undefined
} {
  return {
    error: (issue) => (issue.code === 'unrecognized_keys' ? `known keys: ${keys.join(', ')}` : undefined),
  }
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Reflect.get(value, key)
  }
  return value
}

function show(value: unknown): string {
  if (typeof value === 'number') return String(value)
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
