// Can the program of an experiment be started at all? Its interpreter, script, module and launcher, before any launch.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import type { Experiment, Variant } from '../../config/experiment.ts'
import { filledIn } from '../../config/launch/placeholders.ts'
import { ConfigError } from '../../errors.ts'
import { programOf } from '../../plan/program.ts'
import { lastLines } from '../process/log/quote-output.ts'
import { runShort } from '../process/short-command.ts'
import type { VariantPlace } from '../revisions/variant-places.ts'
import { packageRoot } from '../system/package-root.ts'
import { readText } from '../system/read-text.ts'
import { environmentOf, scriptKey } from './resolve-config.ts'

/** Throws a ConfigError for a script that is not there. Whether the revisions of the variants have it, is asked with their configs. */
export function checkScript(experiment: Experiment, workingDirectory: string): void {
  const { script } = programOf(experiment)
  if (script === undefined) return
  const found = statSync(resolve(workingDirectory, script), { throwIfNoEntry: false })
  const subject = `${scriptKey(experiment)}: got "${script}"`
  if (found?.isDirectory())
    throw new ConfigError(
      `${subject}, which is a folder; name the Python file in it that starts the training`,
    )
  if (found) return
  throw new ConfigError(
    `${subject}, which does not exist in ${workingDirectory}; paths are relative to the working directory`,
  )
}

/** Throws a ConfigError for an interpreter, a launcher or a module that cannot be found. */
export async function checkProgram(
  experiment: Experiment,
  variant: Variant,
  place: VariantPlace,
  cancelled: AbortSignal,
): Promise<void> {
  const environment = environmentOf(experiment, variant)
  await checkPython(experiment, place, environment, cancelled)
  const [launcher] = experiment.launch.command ?? []
  if (launcher === undefined || launcher === PYTHON) return
  const program = filledIn(launcher, { python: place.python })
  if (isProgram(program, place.workingDirectory, environment.PATH ?? '')) return
  const remedy = 'Install it, name its path, or start it with {python} -m'
  throw new ConfigError(
    program.includes('/')
      ? `launch.command: got "${program}", which is no program in ${place.workingDirectory}. ${remedy}`
      : `launch.command: got "${program}", which is not on PATH. ${remedy}`,
  )
}

const PYTHON = '{python}'

function isProgram(program: string, workingDirectory: string, path: string): boolean {
  const places = program.includes('/')
    ? [resolve(workingDirectory, program)]
    : path.split(delimiter).map((folder) => resolve(workingDirectory, folder, program))
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK)
      return statSync(place).isFile()
    } catch {
      return false
    }
  })
}

/** Of find_program.py; an interpreter that is broken ends with another. */
const [NO_TORCH, NO_MODULE, NO_MAIN] = [3, 4, 5]

/** torchrun needs nothing but an interpreter with torch in it. */
async function checkPython(
  experiment: Experiment,
  { python, workingDirectory }: VariantPlace,
  environment: Record<string, string>,
  cancelled: AbortSignal,
): Promise<void> {
  const module = moduleOf(experiment)
  const isShortForm = experiment.launch.command === undefined
  const words = [isShortForm ? 'torch' : '', ...(module === undefined ? [] : [module])]
  // By -c, the folder in which modules are looked up first is the working directory.
  const probe = await readText(join(packageRoot(), 'src', 'io', 'load', 'find_program.py'), 'find_program.py')
  const found = await runShort([python, '-c', probe, ...words], workingDirectory, environment, cancelled)
  const subject = `launch.python: got "${python}"`
  if (found.status === 'no-answer')
    throw new ConfigError(
      `${subject}, which cannot be started (${found.message}); name an interpreter that has torch`,
    )
  if (found.exitCode === NO_TORCH)
    throw new ConfigError(
      `${subject}, which has no torch and so no torchrun. Install torch into it, or name another interpreter`,
    )
  if (found.exitCode === NO_MODULE || found.exitCode === NO_MAIN) {
    const what =
      found.exitCode === NO_MODULE
        ? `which "${python}" does not find from ${workingDirectory}. Check its spelling, install it, or add its folder to PYTHONPATH in launch.env`
        : 'which is a package without __main__.py. Name the module in it that starts the training'
    throw new ConfigError(`${isShortForm ? 'trainer.module' : 'launch.command'}: got "${module}", ${what}`)
  }
  if (found.exitCode !== 0) {
    const why = lastLines(found.stderr) || 'it printed nothing'
    throw new ConfigError(
      `${subject}, which cannot be run (exit code ${found.exitCode}); fix it or name another interpreter:\n${why}`,
    )
  }
}

/** Of launch.command, what the interpreter itself is told to run. */
function moduleOf({ trainer, launch }: Experiment): string | undefined {
  if (launch.command === undefined) return trainer.module
  const [program, option, module] = launch.command
  return program === PYTHON && option === '-m' ? module : undefined
}
