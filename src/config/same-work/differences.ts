// In which keys two parsed values differ.
import { ownValue } from '../../text/own-value.ts'

export interface Difference {
  readonly key: string
  readonly baseline: unknown
  readonly optimized: unknown
}

/** Every key in which two values differ, by its path; a missing value is null. */
export function differencesOf(
  baseline: unknown,
  optimized: unknown,
  path: readonly string[],
  compared: 'in both' | 'in either' = 'in either',
): Difference[] {
  if (isMapping(baseline) && isMapping(optimized)) {
    const keys = [...new Set([...Object.keys(baseline), ...Object.keys(optimized)])]
      .filter(
        (key) => compared === 'in either' || (Object.hasOwn(baseline, key) && Object.hasOwn(optimized, key)),
      )
      .sort()
    return keys.flatMap((key) =>
      differencesOf(ownValue(baseline, key), ownValue(optimized, key), [...path, key], compared),
    )
  }
  if (JSON.stringify(baseline) === JSON.stringify(optimized)) return []
  return [{ key: path.join('.'), baseline: baseline ?? null, optimized: optimized ?? null }]
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
