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
 * number may be text, as some readers of YAML take 1e-8.
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
  if (typeof given === 'number' && typeof reported === 'string')
    return reported.trim() !== '' && Number(reported) === given
  return given === reported
}
