// Has a variant's trainer config resolved: by the trainer itself, or by taking its YAML as it is.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Experiment, Variant } from '../../config/experiment.ts'
import { parseYaml } from '../../config/parse/yaml.ts'
import { isMapping } from '../../config/same-work/differences.ts'
import type { TrainerConfig } from '../../config/same-work/same-work.ts'
import { ConfigError } from '../../errors.ts'
import { entry } from '../../plan/torchrun.ts'
import { firstLines } from '../process/log/quote-output.ts'
import { runShort } from '../process/short-command.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import type { VariantPlace } from '../revisions/variant-places.ts'
import { tryParseJson } from '../system/parse-json.ts'
import { readText } from '../system/read-text.ts'

/** The trainer alone knows its defaults; one without a validate command has its YAML taken as it is. */
export async function resolveConfig(
  experiment: Experiment,
  variant: Variant,
  place: VariantPlace,
  cancelled: AbortSignal,
): Promise<TrainerConfig> {
  const { config, set } = experiment.variants[variant]
  const { validate_command: command } = experiment.trainer
  requireInRevision(experiment, variant, place)
  if (command !== undefined) return askTrainer(experiment, variant, command, place, cancelled)
  const text = await readText(
    resolve(place.workingDirectory, config),
    `variants.${variant}.config: ${config}`,
  )
  const parsed = parseYaml(text, config)
  if (!isMapping(parsed))
    throw new ConfigError(`${config}: got ${JSON.stringify(parsed)}, expected a mapping of keys to values`)
  return Object.entries(set).reduce(
    (changed, [key, value]) =>
      withValue(changed, key.split('.'), value, `variants.${variant}.set: ${key} in ${config}`),
    parsed,
  )
}

/** The files of a revision lie in a worktree, whose path means nothing to a reader. */
function requireInRevision({ variants, trainer }: Experiment, variant: Variant, place: VariantPlace): void {
  const { config, revision } = variants[variant]
  if (revision === undefined) return
  const files = { [`variants.${variant}.config`]: config, 'trainer.script': trainer.script }
  for (const [key, file] of Object.entries(files)) {
    if (file !== undefined && !existsSync(resolve(place.workingDirectory, file)))
      throw new ConfigError(
        `${key}: ${file} is not in revision ${revision} of the ${variant} variant; merge it first, or name a revision that has it`,
      )
  }
}

async function askTrainer(
  experiment: Experiment,
  variant: Variant,
  command: string,
  place: VariantPlace,
  cancelled: AbortSignal,
): Promise<TrainerConfig> {
  const { config, set, revision } = experiment.variants[variant]
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

function withValue(
  config: TrainerConfig,
  [key = '', ...rest]: readonly string[],
  value: unknown,
  asked: string,
): TrainerConfig {
  if (rest.length === 0) return { ...config, [key]: value }
  const inner = config[key] ?? {}
  if (!isMapping(inner)) {
    throw new ConfigError(
      `${asked}: ${key} is ${JSON.stringify(inner)} there, expected a mapping of keys. Name a key of a mapping, or remove the setting`,
    )
  }
  return { ...config, [key]: withValue(inner, rest, value, asked) }
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

function environmentOf({ launch, variants }: Experiment, variant: Variant): Record<string, string> {
  return trainerEnvironment(process.env, { ...launch.env, ...variants[variant].env })
}
