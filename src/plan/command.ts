// The command line of one run: the words of launch.command filled in, or torchrun.
import type { Experiment } from '../config/experiment.ts'
import { ARGUMENTS, filledIn } from '../config/launch/placeholders.ts'
import type { PlannedRun } from './plan.ts'
import { type RunFiles, torchrunCommand } from './torchrun.ts'

/** `flags`: of the settings, by trainer.arguments. */
export function launchCommand(
  experiment: Experiment,
  run: PlannedRun,
  files: RunFiles,
  python = experiment.launch.python,
  flags: readonly string[] = [],
): string[] {
  const { command, nproc_per_node: processes } = experiment.launch
  if (command === undefined) return [...torchrunCommand(experiment, run, files, python), ...flags]
  const values = {
    python,
    out: files.outDirectory,
    seed: String(run.seed),
    nproc: String(processes),
    ...(files.configFile === null ? {} : { config: files.configFile }),
  }
  const words = command.includes(ARGUMENTS) ? command : [...command, ARGUMENTS]
  return words.flatMap((word) => (word === ARGUMENTS ? flags : [filledIn(word, values)]))
}

/**
 * By these a launcher that starts torch's agent (torchrun, accelerate), or a script under @record, leaves error files
 * where the short form has them.
 */
export function errorVariables(experiment: Experiment, { errorDirectory }: RunFiles): Record<string, string> {
  if (experiment.launch.command === undefined) return {}
  return { PET_LOG_DIR: errorDirectory, TORCHELASTIC_ERROR_FILE: `${errorDirectory}/error.json` }
}
