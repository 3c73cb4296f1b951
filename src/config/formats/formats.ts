// The formats of config files that are read and can be changed, by the extension of their names.
import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from '../../errors.ts'
import { ownValue } from '../../text/own-value.ts'
import type { Settings } from '../parse/mapping.ts'
import { keyPath } from '../parse/setting-key.ts'
import { isMapping } from '../same-work/differences.ts'
import type { TrainerConfig } from '../same-work/same-work.ts'
import type { ConfigFormat } from './format.ts'
import { jsonFormat } from './json.ts'
import { tomlFormat } from './toml.ts'
import { withValue } from './with-value.ts'
import { yamlFormat } from './yaml.ts'

const FORMATS: Readonly<Record<string, ConfigFormat>> = {
  yaml: yamlFormat,
  yml: yamlFormat,
  json: jsonFormat,
  toml: tomlFormat,
}

/** Null for a format that is handed over as it is. */
export function formatOf(file: string): ConfigFormat | null {
  return ownValue(FORMATS, extensionOf(file).slice(1).toLowerCase()) ?? null
}

/** With its dot; empty for a name without one. */
export function extensionOf(file: string): string {
  return /[^/](\.\w+)$/.exec(file)?.[1] ?? ''
}

/** Throws a ConfigError for what is no mapping. */
export function parseConfig(format: ConfigFormat, text: string, file: string): TrainerConfig {
  const parsed = format.parse(text, file)
  if (isMapping(parsed)) return parsed
  throw new ConfigError(`${file}: got ${JSON.stringify(parsed)}, expected a mapping of keys to values`)
}

/** `where` names the settings, and `file` what they change, for messages. */
export function withSettings(
  config: TrainerConfig,
  set: Settings,
  where: string,
  file: string | null = null,
): TrainerConfig {
  return Object.entries(set).reduce<TrainerConfig>(
    (changed, [key, value]) =>
      naming(`${where}: ${key}${file === null ? '' : ` in ${file}`}`, () =>
        withValue(changed, keyPath(key), () => value),
      ),
    config,
  )
}

/** The text of a config with some settings changed. Throws a ConfigError where that would change another one too. */
export function changedText(
  format: ConfigFormat,
  text: string,
  set: Settings,
  file: string,
  where: string,
): string {
  const wanted = withSettings(parseConfig(format, text, file), set, where, file)
  const changes = Object.entries(set).map(([key, value]) => ({ path: keyPath(key), value }))
  const changed = naming(where, () => format.change(text, changes, file))
  if (isDeepStrictEqual(parseConfig(format, changed, file), wanted)) return changed
  throw new ConfigError(
    `${where}: cannot be written into ${file}, where one value stands for several keys (&, * or <<). Write these values out, or make a config file for this variant`,
  )
}

function naming<T>(where: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(`${where}: ${error.message}`) : error
  }
}
