// Settings as words of a command line, by the pattern trainer.arguments: --{key}={value}, --{key} {value}, {key}={value}.
import { ConfigError } from '../../errors.ts'
import type { Settings, SettingValue } from '../parse/mapping.ts'
import { type NumberTexts, numberText } from '../parse/number-texts.ts'
import { keyPath } from '../parse/setting-key.ts'
import { isMapping } from '../same-work/differences.ts'
import { filledIn, placeholdersIn } from './placeholders.ts'

/** What is wrong with a pattern; null for a usable one. */
export function patternProblem(pattern: string): string | null {
  const found = placeholdersIn(pattern).toSorted().join(' ')
  if (found === '{key} {value}') return null
  return `got ${JSON.stringify(pattern)}, expected {key} and {value}, each once, such as --{key}={value}; write {{ and }} for braces`
}

/** Throws a ConfigError that names the setting for a value that no word can be made of. */
export function flagsOf(pattern: string, settings: Settings, texts: NumberTexts = new Map()): string[] {
  const words = pattern.trim().split(/\s+/)
  return Object.entries(settings).flatMap(([name, value]) => {
    const key = keyPath(name).join('.')
    return words.flatMap((word) => {
      // argparse takes the items of a list (nargs) as words.
      if (word === '{value}' && Array.isArray(value)) return value.map((item) => textOf(item, name, texts))
      return [filledIn(word, { key, value: textOf(value, name, texts) })]
    })
  })
}

/** As Python writes it: argparse and hydra read True and true alike, a literal_eval only True. */
function textOf(value: SettingValue, name: string, texts: NumberTexts): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return `[${value.map((item) => literalOf(item, name, texts)).join(',')}]`
  return literalOf(value, name, texts)
}

/** A text within a list is in quotes, which Python and hydra read. */
function literalOf(value: SettingValue, name: string, texts: NumberTexts): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'number') return numberText(texts, name, value)
  if (Array.isArray(value)) return textOf(value, name, texts)
  if (typeof value === 'string') return JSON.stringify(value)
  const what = isMapping(value) ? 'a mapping' : 'null'
  const remedy = isMapping(value)
    ? `set its keys one by one, such as ${name}.${Object.keys(value)[0] ?? 'key'}`
    : 'write the word that your trainer reads, such as "null" or "None", in quotes'
  throw new ConfigError(`${name}: got ${what}, which has no one form on a command line; ${remedy}`)
}
