// Which keys of trainer, launch.command and the variants go together.
import { ConfigError, messageOf } from '../../errors.ts'
import { type Experiment, VARIANTS } from '../experiment.ts'
import { keyPath } from '../parse/setting-key.ts'
import { flagsOf, patternProblem } from './flags.ts'
import { ARGUMENTS, PLACEHOLDERS, placeholdersIn } from './placeholders.ts'

/** Throws a ConfigError that names file, key and remedy. */
export function checkCommand(experiment: Experiment, file: string): void {
  const problem =
    programProblem(experiment) ??
    wordsProblem(experiment) ??
    inputProblem(experiment) ??
    keysProblem(experiment)
  if (problem !== null) throw new ConfigError(`${file}: ${problem}`)
}

function programProblem({ trainer, launch }: Experiment): string | null {
  const { module, script, command, validate_command: validate, evaluate_command: evaluate } = trainer
  const named = [module, script].filter((one) => one !== undefined).length
  if (launch.command === undefined) {
    const remedy = named === 0 ? ', or launch.command for another launcher than torchrun' : ''
    return named === 1
      ? null
      : `trainer: got ${named === 0 ? 'neither' : 'both'}, expected exactly one of module and script${remedy}`
  }
  const asksTrainer = validate !== undefined || evaluate !== undefined
  if (asksTrainer && named !== 1)
    return 'trainer: validate_command and evaluate_command are given to a module or a script; name one of them'
  if (!asksTrainer && named > 0)
    return `trainer.${script === undefined ? 'module' : 'script'}: launch.command already names the program; remove one of them`
  if (command !== undefined)
    return `trainer.command: got "${command}" besides launch.command, which has all words; move it there`
  return null
}

function wordsProblem({ trainer, launch }: Experiment): string | null {
  const words = launch.command ?? []
  for (const word of words) {
    const unknown = placeholdersIn(word).find((found) => !PLACEHOLDERS.some((name) => found === `{${name}}`))
    if (unknown !== undefined)
      return `launch.command: got ${unknown} in ${JSON.stringify(word)}, expected one of ${PLACEHOLDERS.map((name) => `{${name}}`).join(' ')}; write {{ and }} for braces`
    if (word !== ARGUMENTS && placeholdersIn(word).includes(ARGUMENTS))
      return `launch.command: got ${ARGUMENTS} in ${JSON.stringify(word)}, expected it as a word of its own, since it stands for several words`
  }
  const places = words.filter((word) => word === ARGUMENTS).length
  if (places > 1) return `launch.command: got ${ARGUMENTS} ${places} times, expected it once`
  if (places === 1 && trainer.arguments === undefined)
    return `launch.command: has ${ARGUMENTS}, but trainer.arguments does not say how a setting becomes a flag; set it, for example to --{key}={value}`
  return null
}

/** Does what the variants name reach the trainer? */
function inputProblem({ trainer, launch, variants }: Experiment): string | null {
  if (trainer.arguments !== undefined) {
    if (trainer.validate_command !== undefined)
      return 'trainer.arguments: a trainer with a validate_command gets its settings in one resolved file; remove one of the two'
    const problem = patternProblem(trainer.arguments)
    if (problem !== null) return `trainer.arguments: ${problem}`
  }
  const takesConfig = launch.command?.some((word) => placeholdersIn(word).includes('{config}'))
  for (const variant of VARIANTS) {
    const { config, set } = variants[variant]
    const where = `variants.${variant}`
    if (config === undefined && trainer.validate_command !== undefined)
      return `${where}.config: missing; trainer.validate_command needs a file to resolve`
    if (config === undefined && takesConfig)
      return `${where}.config: missing, but launch.command has {config}; name a file, or remove {config}`
    if (config !== undefined && takesConfig === false)
      return `${where}.config: got "${config}", but launch.command does not hand it over; add {config} to it, or remove config`
    if (config === undefined && trainer.arguments === undefined && Object.keys(set).length > 0)
      return `${where}.set: does not reach the trainer; name a config file to change, or set trainer.arguments for a trainer that takes flags, for example to --{key}={value}`
  }
  return null
}

function keysProblem({ trainer, variants, design }: Experiment): string | null {
  const { arguments: pattern, validate_command: validate } = trainer
  for (const key of trainer.speed_keys ?? []) {
    const problem = problemOf(() => keyPath(key))
    if (problem !== null) return `trainer.speed_keys: ${problem}`
  }
  // The trainer's own reader judges what it is asked to resolve.
  if (validate !== undefined) return null
  const sets = {
    'variants.baseline.set': variants.baseline.set,
    'variants.optimized.set': variants.optimized.set,
    'design.warm_up_set': design.warm_up_set ?? {},
  }
  for (const [where, set] of Object.entries(sets)) {
    const problem = problemOf(() =>
      pattern === undefined ? Object.keys(set).map(keyPath) : flagsOf(pattern, set),
    )
    if (problem !== null) return `${where}: ${problem}`
  }
  return null
}

function problemOf(act: () => unknown): string | null {
  try {
    act()
    return null
  } catch (error) {
    if (error instanceof ConfigError) return messageOf(error)
    throw error
  }
}
