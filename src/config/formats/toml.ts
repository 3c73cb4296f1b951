// TOML configs: integers and floats stay apart. A file in which a value is changed loses all of its comments.
import { parse, stringify, TomlDate, TomlError } from 'smol-toml'
import { ConfigError } from '../../errors.ts'
import type { SettingValue } from '../parse/mapping.ts'
import { isMapping } from '../same-work/differences.ts'
import type { ConfigFormat } from './format.ts'
import { inForms, withValue } from './with-value.ts'

export const tomlFormat: ConfigFormat = {
  parse: (text, file) => plain(read(text, file)),

  change(text, changes, file) {
    const changed = changes.reduce<Readonly<Record<string, unknown>>>(
      (config, { path, value }) => withValue(config, path, (before) => inForms(value, before, typed)),
      read(text, file),
    )
    return stringify(changed, { numbersAsFloat: true })
  },
}

function read(text: string, file: string): Record<string, unknown> {
  try {
    return parse(text, { integersAsBigInt: true })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [what = ''] = error.message.split('\n')
    throw new ConfigError(
      `${file}, line ${error.line}: not valid TOML: ${what}; fix it, or name another file`,
    )
  }
}

/** What JSON has no word for, such as inf, a date or an integer of 64 bits, becomes a text. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof TomlDate) return value.toISOString()
  if (!isMapping(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]))
}

/** A whole number stays a float where the value before it was one. */
function typed(value: SettingValue, before: unknown): unknown {
  if (value === null)
    throw new ConfigError(
      `got null, which TOML does not have; remove the setting, or leave the key out of the file`,
    )
  if (typeof value === 'number')
    return Number.isInteger(value) && typeof before !== 'number' ? BigInt(value) : value
  return value
}
