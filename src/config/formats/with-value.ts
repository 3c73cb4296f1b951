// A mapping with one value changed, deep inside; the mappings on the way there are copied, or made.
import { ConfigError } from '../../errors.ts'
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
