// Refuses an experiment that could only end without a verdict.
import { type Experiment, gatesOf } from '../config/experiment.ts'
import { ConfigError } from '../errors.ts'
import { looksOf } from '../plan/looks.ts'
import { isLevel } from './gates/gate-kind.ts'
import { fewestPairs } from './gates/gate-verdict.ts'

/** Throws a ConfigError that names each required gate for which the most blocks are too few. */
export function requireEnoughBlocks(experiment: Experiment): void {
  const most = looksOf(experiment).at(-1) ?? 0
  const open = gatesOf(experiment).filter(
    (gate) =>
      gate.severity === 'required' &&
      gate.evidence === 'interval' &&
      !isLevel(gate) &&
      fewestPairs(gate) > most,
  )
  if (open.length === 0) return
  const needs = open.map((gate) => `${gate.name} ${fewestPairs(gate)}`).join(', ')
  throw new ConfigError(
    `design.blocks: got ${most}, too few for the intervals of the required gates (at least ${needs}). Raise it, or accept an estimate with evidence: point`,
  )
}
