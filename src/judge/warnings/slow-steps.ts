// A speedup that passes only by steps that wait now and then, as those of a training do whose host is busy.
import type { Gate } from '../../config/gates/gates.ts'
import { ratio } from '../../text/numbers.ts'
import { isMoreBetter } from '../gates/gate-kind.ts'
import { clears } from '../gates/gate-verdict.ts'
import type { PairedEstimate } from '../paired.ts'
import { type Speedups, speedupAtFastestSteps } from '../speedups.ts'
import type { Warning } from './warning.ts'

/** Not a failure: the baseline did wait. Another host may not let it wait. */
export const slowStepWarnings: Warning<'experiment' | 'gates' | 'comparison'> = ({
  experiment: { mode },
  gates,
  comparison: { speedups },
}) => {
  if (mode === 'aa') return []
  return gates.flatMap(({ gate, status }) => {
    const found = quotientOf(gate, speedups)
    if (!found || status !== 'passed' || gate.severity === 'info') return []
    const { estimate, bounds } = found
    const [side, bound] = isMoreBetter(gate) ? ['least', bounds?.lower] : ['most', bounds?.upper]
    const decisive = gate.evidence === 'point' ? estimate : (bound ?? estimate)
    // Not where it reads as its limit.
    if (clears(gate, decisive) || ratio(decisive) === ratio(gate.limit)) return []
    const beyond = decisive === estimate ? '' : ` (at ${side} ${ratio(decisive)})`
    return [
      `${gate.name} passes only because of slow steps. At the pace of the fastest tenth of each run it would be ${ratio(estimate)}${beyond}, and miss its limit of ${ratio(gate.limit)}. Check what steps of the baseline wait for: another machine may not show it. If some steps are longer by design, set period_steps`,
    ]
  })
}

/** What the gate's quotient would be; null where it is of no such time, or none was measured. */
function quotientOf(
  { metric, statistic }: Gate,
  speedups: Speedups,
): Pick<PairedEstimate, 'estimate' | 'bounds'> | null {
  const speedup = speedupAtFastestSteps(metric, speedups)
  if (statistic === 'speedup') return speedup
  if (statistic !== 'ratio' || speedup === null) return null
  const { estimate, bounds } = speedup
  return { estimate: 1 / estimate, bounds: bounds && { lower: 1 / bounds.upper, upper: 1 / bounds.lower } }
}
