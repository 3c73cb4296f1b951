// When the evidence of an experiment is looked at, and what that costs in confidence -> sentences.
import type { Experiment } from '../../config/experiment.ts'
import { confidenceOf, looksOf } from '../../plan/looks.ts'
import { isMeasured } from '../../plan/plan.ts'
import type { Result } from '../../record/result.ts'
import { confidence } from '../../text/numbers.ts'

/** Before the first launch. */
export function looksPlanned(experiment: Experiment): string {
  const looks = looksOf(experiment)
  const { gpu_minutes: budget } = experiment.design
  const share = looks.length === 1 ? '' : `, so that all ${looks.length} looks together err in at most 5%`
  return [
    `Looks: after ${looks.join(', ')} blocks; each bound at ${confidence(confidenceOf(experiment))}${share}.`,
    ...(budget === undefined
      ? []
      : [`No look is begun that would take more than ${budget} GPU minutes in all.`]),
  ].join(' ')
}

/** Nothing with a single look: there was nothing to stop early for. */
export function looksTaken({ experiment, runs }: Result): string[] {
  const looks = looksOf(experiment)
  const blocks = new Set(runs.filter(isMeasured).map(({ block }) => block)).size
  const taken = looks.filter((look) => look <= blocks).length
  if (looks.length === 1 || taken === 0) return []
  return [
    `Looks: ${taken} of ${looks.length} were taken, the last after ${looks[taken - 1]} blocks; each bound is at ${confidence(confidenceOf(experiment))}, so that all looks together err in at most 5%.`,
  ]
}
