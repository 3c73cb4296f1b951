// How many launches a plan will take -> lines.
import { markdownTable } from 'markdown-table'
import type { Experiment } from '../config/experiment.ts'
import { ASSUMED_SCATTER, expectedLaunches } from '../judge/looks/expected-launches.ts'
import { number, percent, ratio } from '../text/numbers.ts'

/** Nothing where every launch is made, or none is compared by its time. */
export function expectedLines(experiment: Experiment): string[] {
  const expected = experiment.mode === 'aa' ? null : expectedLaunches(experiment)
  if (expected === null) return []
  const { gate, cases } = expected
  return [
    '',
    `Launches to expect, on average, if runs scatter by ${percent(ASSUMED_SCATTER)} and every gate but ${gate.name} passes`,
    markdownTable([
      ['case', `true ${gate.statistic}`, 'launches'],
      ...cases.map(({ name, truth, launches }) => [name, ratio(truth), number(launches, 3)]),
    ]),
  ]
}
