// A gate on time that is decided by the clocks of the GPUs: one variant ran on a lower one.
import { MATTERS } from '../../../measure/steady-state.ts'
import { SECONDS_PER_SAMPLE } from '../../../metrics/catalogue.ts'
import { ratio } from '../../../text/numbers.ts'
import { isMoreBetter, isQuotient } from '../../gates/gate-kind.ts'
import { clears, type GateVerdict } from '../../gates/gate-verdict.ts'
import type { PairedEstimate } from '../../paired.ts'
import type { Speedups } from '../../speedups.ts'
import type { Warning } from '../warning.ts'

/** No failure: hot kernels lower a clock by themselves. So does a cap on power, or the heat of the job before. */
export const clockWarnings: Warning<'experiment' | 'gates' | 'comparison'> = ({
  experiment: { mode },
  gates,
  comparison: { speedups },
}) => {
  const slower = slowerVariant(speedups)
  if (mode === 'aa' || slower === null) return []
  return gates.flatMap((judged) => {
    const bound = boundAtOneClock(judged, speedups)
    const { gate, status } = judged
    if (bound === null || gate.severity === 'info') return []
    const { limit, name } = gate
    // Not where it reads as its limit.
    if (clears(gate, bound) === (status === 'passed') || ratio(bound) === ratio(limit)) return []
    return [
      `${name} ${status} only because the ${slower} ran on a lower GPU clock. At one clock its bound would be ${ratio(bound)}, with a limit of ${ratio(limit)}. Check power limits and cooling, and lock the clocks if you can`,
    ]
  })
}

/** Null where both ran on about the same clock, or it was not measured. */
function slowerVariant({ steady, atOneClock }: Speedups): string | null {
  if (steady === null || atOneClock === null) return null
  const shift = Math.log(steady.estimate / atOneClock.estimate)
  if (Math.abs(shift) <= MATTERS) return null
  return shift > 0 ? 'baseline' : 'optimized variant'
}

/** The bound that decided the gate, in clock cycles; null for a gate of another number, or an open one. */
function boundAtOneClock({ gate, status }: GateVerdict, { atOneClock }: Speedups): number | null {
  if (gate.metric !== SECONDS_PER_SAMPLE || !isQuotient(gate) || atOneClock === null) return null
  if (status !== 'passed' && status !== 'failed') return null
  const found = gate.statistic === 'speedup' ? atOneClock : inverse(atOneClock)
  if (gate.evidence === 'point' || found.bounds === null) return found.estimate
  return isMoreBetter(gate) === (status === 'passed') ? found.bounds.lower : found.bounds.upper
}

function inverse({ estimate, bounds }: PairedEstimate): Pick<PairedEstimate, 'estimate' | 'bounds'> {
  return {
    estimate: 1 / estimate,
    bounds: bounds && { lower: 1 / bounds.upper, upper: 1 / bounds.lower },
  }
}
