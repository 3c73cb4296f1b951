// Which Python file or module a run starts, in the short form and among the words of launch.command.

import type { Experiment } from '../config/experiment.ts'
import { placeholdersIn } from '../config/launch/placeholders.ts'

export interface Program {
  readonly script?: string | undefined
  readonly module?: string | undefined
}

/** Neither where launch.command names an installed program; a launcher has its script behind it. */
export function programOf({ trainer, launch }: Pick<Experiment, 'trainer' | 'launch'>): Program {
  const { script, module } = trainer
  const { command } = launch
  if (command === undefined || script !== undefined || module !== undefined) return { script, module }
  const found = command.find((word) => /^[^-].*\.py$/.test(word) && placeholdersIn(word).length === 0)
  if (found !== undefined) return { script: found }
  const [last] = command
    .flatMap((word, index) => (word === '-m' ? command.slice(index + 1, index + 2) : []))
    .slice(-1)
  return last === undefined ? {} : { module: last }
}
