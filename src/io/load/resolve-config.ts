// What a variant's trainer is handed: the config that it resolved itself, or its file as it is, with what is set.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Experiment, Variant } from '../../config/experiment.ts'
import {
  changedText,
  extensionOf,
  formatOf,
  parseConfig,
  withSettings,
} from '../../config/formats/formats.ts'
import { flagsOf } from '../../config/launch/flags.ts'
import type { TrainerInput } from '../../config/launch/trainer-input.ts'
import type { Settings } from '../../config/parse/mapping.ts'
import type { NumberTexts } from '../../config/parse/number-texts.ts'
import { isMapping } from '../../config/same-work/differences.ts'
import { OPAQUE_FILE } from '../../config/same-work/opaque-file.ts'
import type { TrainerConfig } from '../../config/same-work/same-work.ts'
import { ConfigError } from '../../errors.ts'
import { programOf } from '../../plan/program.ts'
import { entry } from '../../plan/torchrun.ts'
import { firstLines } from '../process/log/quote-output.ts'
import { runShort } from '../process/short-command.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import type { VariantPlace } from '../revisions/variant-places.ts'
import { tryParseJson } from '../system/parse-json.ts'
import { readBytes, textOf } from '../system/read-text.ts'

/** The trainer alone knows its defaults; one without a validate command has its config taken as it is. */
export async function resolveConfig(
  experiment: Experiment,
  variant: Variant,
  place: VariantPlace,
  texts: NumberTexts,
  cancelled: AbortSignal,
): Promise<TrainerInput> {
  const { config, set } = experiment.variants[variant]
  const { validate_command: command, arguments: pattern } = experiment.trainer
  requireInRevision(experiment, variant, place)
  if (command !== undefined && config !== undefined) {
    const settings = await askTrainer(experiment, variant, command, config, place, cancelled)
    const content = `${JSON.stringify(settings, null, 2)}\n`
    return { settings, file: { name: 'config.json', content }, flags: [] }
  }
  const where = `variants.${variant}.set`
  const flags = pattern === undefined ? [] : namingSet(where, () => flagsOf(pattern, set, texts))
  if (config === undefined) return { settings: withSettings({}, set, where), file: null, flags }
  const read = await readConfig(config, `variants.${variant}.config: ${config}`, place)
  const settings = withSettings(read.settings, set, where, config)
  const content = pattern === undefined && Object.keys(set).length > 0 ? read.changed(set, where) : read.bytes
  return { settings, file: { name: `config${extensionOf(config)}`, content }, flags }
}

interface ReadConfig {
  /** As the file has them. */
  readonly settings: TrainerConfig
  readonly bytes: Buffer
  readonly changed: (set: Settings, where: string) => string
}

/** Where no settings are written into it, any file is copied byte by byte. */
async function readConfig(config: string, name: string, place: VariantPlace): Promise<ReadConfig> {
  const bytes = await readBytes(resolve(place.workingDirectory, config), name)
  const format = formatOf(config)
  if (format === null) {
    const hash = createHash('sha256').update(bytes).digest('hex')
    return { settings: { [OPAQUE_FILE]: hash }, bytes, changed: (_, where) => refuseSettings(config, where) }
  }
  const text = textOf(bytes, name)
  return {
    settings: parseConfig(format, text, config),
    bytes,
    changed: (set, where) => changedText(format, text, set, config, where),
  }
}

function refuseSettings(config: string, where: string): never {
  throw new ConfigError(
    `${where}: cannot be written into ${config}; only .yaml, .yml, .json and .toml can be changed. If the trainer takes flags besides its file, set trainer.arguments, for example to --{key}={value}`,
  )
}

function namingSet(where: string, act: () => string[]): string[] {
  try {
    return act()
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(`${where}: ${error.message}`) : error
  }
}

/** The files of a revision lie in a worktree, whose path means nothing to a reader. */
function requireInRevision(experiment: Experiment, variant: Variant, place: VariantPlace): void {
  const { config, revision } = experiment.variants[variant]
  if (revision === undefined) return
  const { script } = programOf(experiment)
  const files = { [`variants.${variant}.config`]: config, [scriptKey(experiment)]: script }
  for (const [key, file] of Object.entries(files)) {
    if (file !== undefined && !existsSync(resolve(place.workingDirectory, file)))
      throw new ConfigError(
        `${key}: ${file} is not in revision ${revision} of the ${variant} variant; merge it first, or name a revision that has it`,
      )
  }
}

/** Where an experiment names its script. */
export function scriptKey({ trainer }: Experiment): string {
  return trainer.script === undefined ? 'launch.command' : 'trainer.script'
}

async function askTrainer(
  experiment: Experiment,
  variant: Variant,
  command: string,
  config: string,
  place: VariantPlace,
  cancelled: AbortSignal,
): Promise<TrainerConfig> {
  const { set, revision } = experiment.variants[variant]
  const settings = Object.entries(set).flatMap(([key, value]) => ['--set', `${key}=${JSON.stringify(value)}`])
  const asked = await runShort(
    [place.python, ...entry(experiment, command), '--json', '--config', config, ...settings],
    place.workingDirectory,
    environmentOf(experiment, variant),
    cancelled,
  )
  const trainer = `the trainer${revision === undefined ? '' : ` of ${revision}`}`
  if (asked.status === 'no-answer')
    throw new ConfigError(
      `trainer.validate_command: "${command}" of ${trainer} did not answer for variants.${variant} (${asked.message}); fix it, or leave validate_command out so that Speedproof reads the YAML itself`,
    )
  if (asked.exitCode !== 0)
    throw new ConfigError(
      `variants.${variant}: ${trainer} refuses ${config}:\n${firstLines(asked.stderr) || `exit code ${asked.exitCode}`}`,
    )
  return readResolved(asked.stdout, `variants.${variant}: ${command}`)
}

function readResolved(text: string, source: string): TrainerConfig {
  const parsed = tryParseJson(text)
  if (isMapping(parsed)) return parsed
  throw new ConfigError(
    `${source}: printed ${JSON.stringify(text.slice(0, 80))}, expected one JSON object without NaN and Infinity. Print only that to standard output, and all else to standard error`,
  )
}

/** Throws a ConfigError for a variable that no trainer may see, with its place in the file. */
export function checkEnvironments({ launch, variants }: Experiment, file: string): void {
  const { baseline, optimized } = variants
  const places = { launch, 'variants.baseline': baseline, 'variants.optimized': optimized }
  for (const [place, { env }] of Object.entries(places)) {
    try {
      trainerEnvironment({}, env)
    } catch (error) {
      throw error instanceof ConfigError ? new ConfigError(`${file}: ${place}.${error.message}`) : error
    }
  }
}

export function environmentOf({ launch, variants }: Experiment, variant: Variant): Record<string, string> {
  return trainerEnvironment(process.env, { ...launch.env, ...variants[variant].env })
}
