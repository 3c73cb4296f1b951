// Does a run report the config that was handed over to it?
import { isMapping } from './differences.ts'

export interface OtherValue {
  readonly key: string
  readonly given: unknown
  /** Undefined where the run does not report the key. */
  readonly reported: unknown
}

/**
 * The first value that is another, or null. A run may report more: defaults of its own, also where null was given. A
 * number may be a text in one of them, as some readers of YAML take 1e-8 for one.
 */
export function otherValue(
  given: unknown,
  reported: unknown,
  path: readonly string[] = [],
): OtherValue | null {
  if (given === null) return null
  const within = partsOf(given)
  if (within === null) return isSame(given, reported) ? null : { key: path.join('.'), given, reported }
  if (Array.isArray(given) && !(Array.isArray(reported) && reported.length === given.length))
    return { key: path.join('.'), given, reported }
  const parts = partsOf(reported) ?? new Map()
  for (const [key, value] of within) {
    const other = otherValue(value, parts.get(key), [...path, key])
    if (other !== null) return other
  }
  return null
}

function partsOf(value: unknown): ReadonlyMap<string, unknown> | null {
  return isMapping(value) || Array.isArray(value) ? new Map(Object.entries(value)) : null
}

function isSame(given: unknown, reported: unknown): boolean {
  if (typeof given === typeof reported) return given === reported
  const texts = [given, reported].filter((value) => typeof value === 'string')
  const numbers = [given, reported].filter((value) => typeof value === 'number')
  const [text = ''] = texts
  return text.trim() !== '' && numbers[0] === Number(text)
}
