// What warm-up launches already show of an experiment, before there is a measured one: no later launch would mend it.
import type { VerdictInput } from '../../verdict-input.ts'
import type { Check } from '../check.ts'
import { equalWorkProblems } from '../equal-work.ts'
import { tooFewSteps } from '../steady-state.ts'

/** By the check that they belong to. Launches that design.warm_up_set shortens say nothing about length and settings. */
export function warmUpProblems({
  experiment,
  configs,
  runs,
}: Pick<VerdictInput, 'experiment' | 'configs' | 'runs'>): Partial<Record<Check['name'], readonly string[]>> {
  if (runs.length === 0) return {}
  const isShortened = experiment.design.warm_up_set !== undefined
  return {
    'equal work': isShortened
      ? equalWorkProblems(experiment, runs, null, 'short warm-ups')
      : equalWorkProblems(experiment, runs, configs, 'warm-ups'),
    'steady state': isShortened ? [] : runs.flatMap(tooFewSteps),
  }
}
