// Held-out numbers that no seed changes: their interval has no width, and says nothing about other seeds.
import { type Experiment, gatesOf } from '../config/experiment.ts'
import type { RunSummary } from '../measure/summary.ts'
import { comparesQuality } from './gate-kind.ts'
import { MIN_SEEDS } from './gate-verdict.ts'

/** Of the baseline, since that a speedup changes nothing of a number is what is hoped for. */
export function seedWarnings(experiment: Experiment, runs: readonly RunSummary[]): string[] {
  const baseline = runs.filter(({ variant, block }) => variant === 'baseline' && block !== null)
  const compared = gatesOf(experiment).filter((gate) => comparesQuality(gate) && gate.evidence === 'interval')
  return [...new Set(compared.map(({ metric }) => metric))].flatMap((metric) => {
    const values = baseline.flatMap(({ metrics }) => metrics[metric] ?? [])
    return values.length < MIN_SEEDS || new Set(values).size > 1
      ? []
      : [
          `${metric} of the baseline is the same to the last digit with ${values.length} seeds, so its interval says nothing about others; does the trainer use its seed?`,
        ]
  })
}
