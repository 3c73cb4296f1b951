// What --set gives: KEY=VALUE texts -> settings by dotted key.
import { ConfigError } from '../../errors.ts'
import { parseStrictly } from '../parse/explain.ts'
import { type Settings, settings } from '../parse/mapping.ts'
import { isUnusable, parseYaml, unusableText } from '../parse/yaml.ts'

/** A value is read as YAML, as in a file: train.updates=60 is a number. */
export function parseSetFlags(texts: readonly string[]): Settings {
  const entries = texts.map((text) => {
    const [, key, value] = /^([^=\s]+)=(.+)$/s.exec(text) ?? []
    if (key === undefined || value === undefined)
      throw new ConfigError(`--set: got "${text}", expected KEY=VALUE such as train.updates=60`)
    if (isUnusable(key)) throw new ConfigError(`--set: ${unusableText(key)}`)
    return [key, parseYaml(value, `--set ${key}`, 'flag')] as const
  })
  return parseStrictly(settings, Object.fromEntries(entries), '--set')
}
