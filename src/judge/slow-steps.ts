// A speedup that passes only by steps that wait now and then, as those of a training do whose host is busy or slow.
import { ratio, rounded } from '../text/numbers.ts'
import type { GateVerdict } from './gate-verdict.ts'
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
    const estimate = gate.statistic === 'speedup' ? atFastest[gate.metric]?.estimate : undefined
    if (estimate === undefined || state !== 'passed' || gate.severity === 'info') return []
    if (rounded(estimate, 3) >= gate.limit) return []
    return [
      `${gate.name} passes, and would be ${ratio(estimate)}, below its limit of ${ratio(gate.limit)}, had no step taken longer than the fastest tenth of its run: what do the steps of the baseline wait for, and does it on another machine?`,
    ]
  })
}
