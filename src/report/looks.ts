// When the evidence of an experiment is looked at, and what that costs in confidence -> sentences.
import { markdownTable } from 'markdown-table'
import type { Experiment } from '../config/experiment.ts'
import type { Look } from '../config/looks.ts'
import { LEAST_CHANCE } from '../judge/looks/chance.ts'
import { looksOf, mayPassAt } from '../plan/looks.ts'
import { isMeasured } from '../plan/plan.ts'
import type { Result } from '../record/result.ts'
import { sumOf } from '../statistics/averages.ts'
import { confidence, exactPercent, percent, rounded } from '../text/numbers.ts'

/** Before the first launch. */
export function looksPlanned({ design }: Experiment): string[] {
  const { looks, gpu_minutes: budget } = design
  const rows = looks.map((look) => [String(look.blocks), ...levelCells(look)])
  const early = looks.some((look) => !mayPassAt(look))
  return [
    'Looks, with the confidence of each bound',
    markdownTable([['after blocks', 'to pass', 'to fail'], ...rows]),
    ...(early ? ['A look that cannot pass fails gates on time alone.'] : []),
    ...(looks.length === 1
      ? []
      : [
          `All ${looks.length} looks together pass wrongly in at most ${errorOf(looks)}, if blocks are independent.`,
          `The experiment stops where the blocks left have less than a ${percent(LEAST_CHANCE)} chance to decide.`,
        ]),
    ...(budget === undefined
      ? []
      : [`No look is begun that would take more than ${budget} GPU minutes in all.`]),
  ]
}

function levelCells({ pass_level, fail_level }: Look): string[] {
  return [pass_level, fail_level].map((level) => (level === 0 ? 'cannot' : confidence(1 - level)))
}

/** Nothing with a single look: there was nothing to stop early for. */
export function looksTaken({ experiment, runs, notRun }: Result): string[] {
  const { looks } = experiment.design
  const counts = looksOf(experiment)
  const blocks = new Set(runs.filter(isMeasured).map(({ block }) => block)).size
  const taken = looks.filter((look) => look.blocks <= blocks)
  const last = taken.at(-1)
  if (looks.length === 1 || last === undefined) return []
  const [pass, fail] = levelCells(last)
  const bounds = mayPassAt(last) ? `to pass ${pass}, to fail ${fail}` : `to fail ${fail}; it cannot pass`
  const futile =
    notRun === 'futile' && taken.length < counts.length
      ? [
          `The experiment stopped there, because the blocks left had less than a ${percent(LEAST_CHANCE)} chance to decide.`,
        ]
      : []
  return [
    `Looks: ${taken.length} of ${looks.length} were taken, the last after ${last.blocks} blocks. Confidence of its bounds: ${bounds}. All looks together pass wrongly in at most ${errorOf(looks)}, if blocks are independent.`,
    ...futile,
  ]
}

/** Bonferroni. */
function errorOf(looks: readonly Look[]): string {
  return exactPercent(rounded(sumOf(looks.map(({ pass_level }) => pass_level)), 3))
}
