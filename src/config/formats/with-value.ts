// A mapping with one value changed, deep inside, in the number forms of what was there before.
import { ConfigError } from '../../errors.ts'
import type { SettingValue } from '../parse/mapping.ts'
import { isMapping } from '../same-work/differences.ts'

type Mapping = Readonly<Record<string, unknown>>

/** Throws a ConfigError where something else than a mapping is in the way. */
export function withValue(
  config: Mapping,
  [key = '', ...rest]: readonly string[],
  valueFor: (before: unknown) => unknown,
): Mapping {
  const before = Object.hasOwn(config, key) ? config[key] : undefined
  if (rest.length === 0) return { ...config, [key]: valueFor(before) }
  const inner = before ?? {}
  if (!isMapping(inner)) {
    throw new ConfigError(
      `${key} is ${JSON.stringify(inner)} there, expected a mapping of keys. Name a key of a mapping, or remove the setting`,
    )
  }
  return { ...config, [key]: withValue(inner, rest, valueFor) }
}

/** Each text, number and truth value by `leaf`, with what stood in its place; the first item stands for all of a list. */
export function inForms(
  value: SettingValue,
  before: unknown,
  leaf: (value: SettingValue, before: unknown) => unknown,
): unknown {
  if (Array.isArray(value)) {
    const [first]: unknown[] = Array.isArray(before) ? before : []
    return value.map((item) => inForms(item, first, leaf))
  }
  if (!isMapping(value)) return leaf(value, before)
  const inner = isMapping(before) ? before : {}
  return Object.fromEntries(
    Object.entries(value).map(([key, item]: [string, SettingValue]) => [
      key,
      inForms(item, inner[key], leaf),
    ]),
  )
}
