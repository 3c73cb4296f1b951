// A stored noise floor so wide that nothing held against it is disturbed, and hardly any gate on time can be proven.
import type { Gate } from '../../config/gates/gates.ts'
import { SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { confidenceOf, lookAt, looksOf } from '../../plan/looks.ts'
import { meanOf } from '../../statistics/averages.ts'
import { resolvableDistance } from '../../statistics/power.ts'
import { percent } from '../../text/numbers.ts'
import { isLevel } from '../gates/gate-kind.ts'
import type { Warning } from './warning.ts'

/** Nobody's question is whether a training is over 10% slower, and a speedup is not claimed to the last tenth. */
const WIDEST = Math.log(1.1)

/**
 * What the most blocks prove in 80% of experiments if runs scatter by their floors. Of one known floor both variants
 * are taken to have it; what both runs of a block share cancels, so the experiment itself may do better.
 */
export const coarseNoiseFloorWarnings: Warning<'experiment' | 'gates' | 'noise'> = ({
  experiment,
  gates,
  noise,
}) => {
  const blocks = looksOf(experiment).at(-1) ?? 0
  const timed = gates
    .map(({ gate }) => gate)
    .filter((gate) => gate.metric === SECONDS_PER_SAMPLE && isGatedRatio(gate))
  if (noise.status === 'not-measured' || timed.length === 0 || blocks < 2) return []
  const variances = noise.variants.map(({ floor }) => floor.log_standard_deviation ** 2)
  const mean = meanOf(variances)
  const distance = resolvableDistance(
    Math.sqrt(2 * mean),
    blocks,
    confidenceOf(lookAt(experiment, blocks)).pass,
  )
  return timed
    .filter(({ limit }) => distance > resolutionFor(limit))
    .map(
      ({ name, limit }) =>
        `the noise floor of this machine is wide for ${name}: equal runs scatter by ${percent(Math.sqrt(mean))}. With ${blocks} blocks it is only proven ${percent(Math.expm1(distance))} past its limit of ${limit}. Take more blocks or longer runs, or find what disturbs the machine and measure the floor again`,
    )
}

function isGatedRatio(gate: Gate): boolean {
  return gate.severity !== 'info' && gate.evidence === 'interval' && !isLevel(gate)
}

/** A limit such as 0.98 asks whether two equal trainings can be told from one that is 2% slower. */
function resolutionFor(limit: number): number {
  const fromEqual = Math.abs(Math.log(limit))
  return fromEqual > 0 ? Math.min(fromEqual, WIDEST) : WIDEST
}
