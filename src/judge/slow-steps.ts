// A speedup that passes only by steps that wait now and then, as those of a training do whose host is busy.
import { ratio } from '../text/numbers.ts'
import { clears, type GateVerdict } from './gate-verdict.ts'
import type { PairedEstimate } from './paired.ts'
import type { Speedups } from './speedups.ts'

/** Not a failure: the baseline did wait. Another host may not let it wait. */
export function slowStepWarnings(gates: readonly GateVerdict[], { atFastestSteps }: Speedups): string[] {
  const atFastest: Readonly<Record<string, PairedEstimate | null>> = {
    seconds_per_sample: atFastestSteps.steady,
    time_to_quality_seconds: atFastestSteps.toQuality,
    time_to_each_quality_seconds: atFastestSteps.toEachQuality,
  }
  return gates.flatMap(({ gate, state }) => {
    const found = gate.statistic === 'speedup' ? atFastest[gate.metric] : null
    if (!found || state !== 'passed' || gate.severity === 'info') return []
    const { estimate, bounds } = found
    const decisive = gate.evidence === 'point' ? estimate : (bounds?.lower ?? estimate)
    // Not where it reads as its limit.
    if (clears(gate, decisive) || ratio(decisive) === ratio(gate.limit)) return []
    const least = decisive === estimate ? '' : ` (at least ${ratio(decisive)})`
    return [
      `${gate.name} passes, and would not, at ${ratio(estimate)}${least} with a limit of ${ratio(gate.limit)}, had no step after the warm-up been slower than the fastest tenth of its run: what do steps of the baseline wait for, and on another machine too? Or are some longer by design, and period_steps does not say so?`,
    ]
  })
}
