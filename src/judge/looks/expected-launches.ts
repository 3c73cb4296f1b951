// How many launches an experiment will take, for a clear pass, a clear failure and a speedup at its limit.
import { type Experiment, gatesOf, VARIANTS } from '../../config/experiment.ts'
import type { Gate } from '../../config/gates/gates.ts'
import { meanOf } from '../../statistics/averages.ts'
import { normalDraws } from '../../statistics/draws.ts'
import { isMoreBetter, isSpeed } from '../gates/gate-kind.ts'
import { leastDeviation } from '../noise/least-deviation.ts'
import { NO_FLOORS } from '../noise/noise.ts'
import { playLooks } from './play.ts'

/** Standard deviation of ln(seconds) between runs, which an idle GPU machine stays below. */
export const ASSUMED_SCATTER = 0.02

/** So far from its limit a pass is clear, and a regression. */
const CLEAR = 1.1

export interface Expected {
  readonly gate: Gate
  readonly cases: readonly {
    readonly name: 'clear pass' | 'clear failure' | 'borderline'
    /** Baseline over optimized, or its inverse, as the gate has it. */
    readonly truth: number
    readonly launches: number
  }[]
}

/** Of the first required gate on time; null without one, and with a single look, which takes all its launches. */
export function expectedLaunches(experiment: Experiment): Expected | null {
  const gate = gatesOf(experiment).find(
    (one) => one.severity === 'required' && one.evidence === 'interval' && isSpeed(one),
  )
  if (gate === undefined || experiment.design.looks.length === 1 || gate.limit <= 0) return null
  const { limit } = gate
  const better = isMoreBetter(gate) ? CLEAR : 1 / CLEAR
  // A limit that equal trainings reach asks for no speedup.
  const isReached = isMoreBetter(gate) ? limit < 1 : limit > 1
  const truths = [
    ['clear pass', isReached ? 1 : limit * better],
    ['clear failure', isReached || Math.abs(Math.log(limit)) < Math.log(CLEAR) ? limit / better : 1],
    ['borderline', limit],
  ] as const
  return {
    gate,
    cases: truths.map(([name, truth]) => ({ name, truth, launches: meanLaunches(experiment, gate, truth) })),
  }
}

function meanLaunches({ design }: Experiment, gate: Gate, truth: number): number {
  const rules = { leastDeviation: leastDeviation(NO_FLOORS), stopsWhenFutile: true }
  const blocks = normalDraws().map((normals) => {
    const values = normals.map((normal) => Math.log(truth) + Math.SQRT2 * ASSUMED_SCATTER * normal)
    return playLooks(gate, values, design.looks, rules).blocks
  })
  return VARIANTS.length * (design.warm_up_launches + meanOf(blocks))
}
