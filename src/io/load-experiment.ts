// Reads an experiment and has both trainer configs resolved, before any run is started.
import { readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { type Experiment, parseExperiment, VARIANTS, type Variant } from '../config/experiment.ts'
import type { Overrides } from '../config/overrides.ts'
import {
  isMapping,
  type ResolvedConfigs,
  refuseForbiddenDifferences,
  type TrainerConfig,
} from '../config/same-work.ts'
import { parseYaml } from '../config/yaml.ts'
import { ConfigError } from '../errors.ts'
import { entry } from '../plan/torchrun.ts'
import type { Request } from '../report/result.ts'
import { messageOf } from './error-message.ts'
import { runShort, type ShortCommandEnd } from './process/short-command.ts'
import { trainerEnvironment } from './process/trainer-environment.ts'

/** An experiment file is a page; anything near this size is not one. */
const MAX_TEXT_BYTES = 1024 * 1024

export interface Source {
  readonly experimentFile: string
  readonly workingDirectory: string
  readonly overrides: Overrides
  readonly cancelled: AbortSignal
}

/** Throws a ConfigError for anything that would make the experiment fail before its first step, and on a cancel. */
export async function loadExperiment(source: Source): Promise<Request> {
  const { experimentFile, workingDirectory, overrides } = source
  const text = await readText(resolve(workingDirectory, experimentFile), experimentFile)
  const experiment = parseExperiment(text, experimentFile, overrides)
  for (const variant of VARIANTS) environmentOf(experiment, variant)
  await checkPython(experiment, source)
  const configs = {
    baseline: await resolveConfig(experiment, 'baseline', source),
    optimized: await resolveConfig(experiment, 'optimized', source),
  } satisfies ResolvedConfigs
  refuseForbiddenDifferences(experiment.kind, configs)
  const revision = await revisionOf(source)
  return { experimentFile, experiment, configs, overrides, revision, host: hostname() }
}

export async function readText(path: string, name: string, maxBytes = MAX_TEXT_BYTES): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size > maxBytes)
      throw new ConfigError(`${name}: has ${size} bytes, expected a text file of at most ${maxBytes}`)
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(
      `${name}: cannot be read (${messageOf(error)}); paths are relative to the working directory`,
    )
  }
}

/** torchrun needs nothing but an interpreter with torch in it; finding the module does not import it. */
async function checkPython({ launch }: Experiment, source: Source): Promise<void> {
  const probe = 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'
  const found = await ask([launch.python, '-c', probe], trainerEnvironment(process.env, {}), source)
  if (found.status === 'no-answer') {
    throw new ConfigError(
      `launch.python: got "${launch.python}", which cannot be started (${found.message}); name an interpreter that has torch`,
    )
  }
  if (found.exitCode !== 0) {
    throw new ConfigError(
      `launch.python: "${launch.python}" has no torch, so there is no torchrun; install torch into it or name another interpreter`,
    )
  }
}

/** The trainer alone knows its defaults; one without a validate command has its YAML taken as it is. */
async function resolveConfig(
  experiment: Experiment,
  variant: Variant,
  source: Source,
): Promise<TrainerConfig> {
  const { config, set } = experiment.variants[variant]
  const { validate_command: command } = experiment.trainer
  if (command !== undefined) return askTrainer(experiment, variant, command, source)
  const parsed = parseYaml(await readText(resolve(source.workingDirectory, config), config), config)
  if (!isMapping(parsed))
    throw new ConfigError(`${config}: got ${JSON.stringify(parsed)}, expected a mapping of keys to values`)
  return Object.entries(set).reduce(
    (changed, [key, value]) => withValue(changed, key.split('.'), value),
    parsed,
  )
}

async function askTrainer(
  experiment: Experiment,
  variant: Variant,
  command: string,
  source: Source,
): Promise<TrainerConfig> {
  const { config, set } = experiment.variants[variant]
  const settings = Object.entries(set).flatMap(([key, value]) => ['--set', `${key}=${JSON.stringify(value)}`])
  const asked = await ask(
    [experiment.launch.python, ...entry(experiment, command), '--json', '--config', config, ...settings],
    environmentOf(experiment, variant),
    source,
  )
  if (asked.status === 'no-answer' || asked.exitCode !== 0) {
    const why =
      asked.status === 'no-answer' ? asked.message : asked.stderr.trim() || `exit code ${asked.exitCode}`
    throw new ConfigError(`variants.${variant}: the trainer refuses ${config}:\n${why}`)
  }
  return readResolved(asked.stdout, `variants.${variant}: ${command}`)
}

function readResolved(text: string, source: string): TrainerConfig {
  try {
    const parsed: unknown = JSON.parse(text)
    if (isMapping(parsed)) return parsed
  } catch {
    // The message below serves both: not JSON, and JSON that is no mapping.
  }
  throw new ConfigError(`${source}: printed ${JSON.stringify(text.slice(0, 80))}, expected one JSON object`)
}

function withValue(
  config: TrainerConfig,
  [key = '', ...rest]: readonly string[],
  value: unknown,
): TrainerConfig {
  if (rest.length === 0) return { ...config, [key]: value }
  const inner = config[key]
  return { ...config, [key]: withValue(isMapping(inner) ? inner : {}, rest, value) }
}

/** Throws a ConfigError for a variable that no trainer may see. */
function environmentOf({ launch, variants }: Experiment, variant: Variant): Record<string, string> {
  return trainerEnvironment(process.env, { ...launch.env, ...variants[variant].env })
}

function ask(
  command: readonly string[],
  environment: Record<string, string>,
  { workingDirectory, cancelled }: Source,
): Promise<ShortCommandEnd> {
  return runShort(command, workingDirectory, environment, cancelled)
}

/** The commit, `-dirty` if files that git tracks were changed; null outside of a git checkout. */
async function revisionOf(source: Source): Promise<string | null> {
  const command = ['git', 'describe', '--always', '--dirty', '--abbrev=40', '--exclude=*']
  const asked = await ask(command, trainerEnvironment(process.env, {}), source)
  const revision = asked.status === 'ended' && asked.exitCode === 0 ? asked.stdout.trim() : ''
  return /^[0-9a-f]{40,64}(-dirty)?$/.test(revision) ? revision : null
}
