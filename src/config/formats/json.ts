// JSON configs; a number that is not changed keeps its digits: 1.0 stays 1.0.
import { ConfigError, messageOf } from '../../errors.ts'
import type { SettingValue } from '../parse/mapping.ts'
import { isMapping } from '../same-work/differences.ts'
import { type ConfigFormat, isFloatText, numberText } from './format.ts'
import { inForms, withValue } from './with-value.ts'

/** Of ECMAScript 2025, which the types do not have yet. */
interface SourceTextJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
  rawJSON(text: string): { readonly rawJSON: string }
  isRawJSON(value: unknown): value is { readonly rawJSON: string }
}
const json = JSON as unknown as SourceTextJson

export const jsonFormat: ConfigFormat = {
  parse(text, file) {
    try {
      return JSON.parse(text)
    } catch (error) {
      throw new ConfigError(`${file}: not valid JSON: ${messageOf(error)}; fix it, or name another file`)
    }
  },

  change(text, changes) {
    const kept = json.parse(text, (_, value, { source }) =>
      typeof value === 'number' && source !== undefined ? json.rawJSON(source) : value,
    )
    const changed = changes.reduce(
      (config, { path, value }) => withValue(config, path, (before) => inForms(value, before, raw)),
      isMapping(kept) ? kept : {},
    )
    return `${JSON.stringify(changed, null, 2)}\n`
  },
}

function raw(value: SettingValue, before: unknown): unknown {
  if (typeof value !== 'number') return value
  return json.rawJSON(numberText(value, json.isRawJSON(before) && isFloatText(before.rawJSON)))
}
