// The chance that the looks which are left decide an experiment: below 10% no further block is worth its time.
import type { Experiment } from '../../config/experiment.ts'
import type { Look } from '../../config/looks.ts'
import { mayPassAt } from '../../plan/looks.ts'
import { type Chances, predictLooks } from '../../statistics/prediction.ts'
import { isMoreBetter, unitOf } from '../gates/gate-kind.ts'
import type { GateVerdict } from '../gates/gate-verdict.ts'
import type { Verdict } from '../verdict.ts'

export const LEAST_CHANCE = 0.1

/** Never after an early look: two blocks say too little about the scatter. Stopping may only lose a decision. */
export function isFutile({ design }: Experiment, { gates, mayPass }: Verdict, blocks: number): boolean {
  const later = design.looks.filter((look) => look.blocks > blocks)
  return mayPass && later.length > 0 && chanceOfDecision(gates, later) < LEAST_CHANCE
}

type Judged = Pick<GateVerdict, 'gate' | 'status' | 'staysOpen' | 'evidence'>

/** An upper bound of it: gates that depend on each other most often pass together. */
export function chanceOfDecision(gates: readonly Judged[], later: readonly Look[]): number {
  const chances = gates
    .filter(({ gate }) => gate.severity === 'required')
    .map((judged) => chancesOf(judged, later))
  const pass = Math.min(1, ...chances.map(({ above }) => above))
  const noneFails = chances.reduce((product, { below }) => product * (1 - below), 1)
  return Math.min(1, pass + 1 - noneFails)
}

/** Above the limit is its good side. */
function chancesOf({ gate, status, staysOpen, evidence }: Judged, later: readonly Look[]): Chances {
  if (status === 'passed') return { above: 1, below: 0 }
  if (status === 'failed') return { above: 0, below: 1 }
  if (status === 'not-measured' || staysOpen) return { above: 0, below: 0 }
  if (!evidence?.bounds) return { above: 1, below: 1 }
  const sign = isMoreBetter(gate) ? 1 : -1
  const limit = evidence.scale === 'log' ? Math.log(gate.limit) : gate.limit * unitOf(gate)
  return predictLooks(
    evidence.values.map((value) => sign * (value - limit)),
    later.map((look) => ({
      count: look.blocks,
      above: mayPassAt(look) ? 1 - look.pass_level : null,
      below: look.fail_level > 0 ? 1 - look.fail_level : null,
    })),
  )
}
