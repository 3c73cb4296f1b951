// Finds settings under speed: that the config file does not have, which may be typing mistakes.
import { resolve } from 'node:path'
import type { Experiment, Variant } from '../../config/experiment.ts'
import { formatOf, parseConfig } from '../../config/formats/formats.ts'
import { keyPath } from '../../config/parse/setting-key.ts'
import { isMapping } from '../../config/same-work/differences.ts'
import { closestNames } from '../../judge/gates/closest-names.ts'
import type { VariantPlace } from '../revisions/variant-places.ts'
import { readText } from '../system/read-text.ts'

/** A line for people for each. A trainer that resolves its config itself judges them itself. */
export async function unknownSpeedKeys(
  { trainer, variants }: Experiment,
  variant: Variant,
  place: VariantPlace,
): Promise<string[]> {
  const { config, set } = variants[variant]
  const format = config === undefined ? null : formatOf(config)
  if (config === undefined || format === null || trainer.validate_command !== undefined) return []
  const parsed = parseConfig(format, await readText(resolve(place.workingDirectory, config), config), config)
  return Object.keys(set).flatMap((key) => {
    const [section = '', ...rest] = keyPath(key)
    const unknown = section === 'speed' ? unknownIn(parsed.speed, rest) : null
    if (unknown === null) return []
    const [closest] = closestNames(unknown.name, unknown.known)
    const suggestion = closest === undefined ? '' : ` The closest key there is ${closest}.`
    return [
      `variants.${variant}.set: ${key} is not in ${config}.${suggestion} Check its spelling: a trainer may ignore a key that it does not know`,
    ]
  })
}

function unknownIn(
  config: unknown,
  [name, ...rest]: readonly string[],
): { readonly name: string; readonly known: readonly string[] } | null {
  if (name === undefined || !isMapping(config)) return null
  return Object.hasOwn(config, name) ? unknownIn(config[name], rest) : { name, known: Object.keys(config) }
}
