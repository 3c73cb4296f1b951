// The command line that evaluates the final checkpoints of several runs.
import type { Experiment } from '../config/experiment.ts'
import { entry } from './torchrun.ts'

/** One call for all: no training code runs in it, and both variants meet the same evaluation. */
export function evaluateCommand(
  python: string,
  experiment: Experiment,
  command: string,
  numbersFile: string,
  runFolders: readonly string[],
): string[] {
  return [python, ...entry(experiment, command), '--out', numbersFile, '--run', ...runFolders]
}
