// When the evidence of an experiment is looked at, and what that costs in confidence -> sentences.
import type { Experiment } from '../config/experiment.ts'
import type { Look } from '../config/looks.ts'
import { confidenceOf, looksOf } from '../plan/looks.ts'
import { isMeasured } from '../plan/plan.ts'
import type { Result } from '../record/result.ts'
import { sumOf } from '../statistics/averages.ts'
import { confidence, exactPercent } from '../text/numbers.ts'

/** Before the first launch. */
export function looksPlanned({ design }: Experiment): string {
  const { looks, gpu_minutes: budget } = design
  const counts = looks.map(({ blocks }) => blocks)
  const share =
    looks.length === 1 ? '' : `, so that all ${looks.length} looks together err in at most ${errorOf(looks)}`
  return [
    `Looks: after ${counts.join(', ')} blocks; each bound at ${levelsText(looks)}${share}.`,
    ...(budget === undefined
      ? []
      : [`No look is begun that would take more than ${budget} GPU minutes in all.`]),
  ].join(' ')
}

/** Nothing with a single look: there was nothing to stop early for. */
export function looksTaken({ experiment, runs }: Result): string[] {
  const { looks } = experiment.design
  const counts = looksOf(experiment)
  const blocks = new Set(runs.filter(isMeasured).map(({ block }) => block)).size
  const taken = counts.filter((look) => look <= blocks).length
  if (looks.length === 1 || taken === 0) return []
  return [
    `Looks: ${taken} of ${looks.length} were taken, the last after ${counts[taken - 1]} blocks; each bound is at ${levelsText(looks)}, so that all looks together err in at most ${errorOf(looks)}.`,
  ]
}

/** One for all looks, or one for each. */
function levelsText(looks: readonly Look[]): string {
  return [...new Set(looks.map((look) => confidence(confidenceOf(look))))].join(', ')
}

/** Bonferroni. */
function errorOf(looks: readonly Look[]): string {
  return exactPercent(sumOf(looks.map(({ pass_level }) => pass_level)))
}
