// Where the held-out numbers are from: the end of a training, or shortly before it in all runs alike.
import type { RunSummary } from '../../../measure/summary.ts'
import { percent } from '../../../text/numbers.ts'

/** Of all samples. A loop that evaluates and then takes one more step may end behind its last evaluation. */
const MOST_AFTER = 0.02

export function evaluatedEarlyProblems(runs: readonly RunSummary[]): string[] {
  const atEnd = runs.filter(isAtEnd)
  if (atEnd.length === runs.length) return []
  const places = new Set(runs.map(({ evaluatedAfterSamples }) => evaluatedAfterSamples))
  if (places.size === 1 && runs.every(isNearEnd)) return []
  const isElsewhere = runs.every(isNearEnd) ? ', and not after the same in all runs' : ''
  return runs
    .filter((run) => !isAtEnd(run))
    .map(
      (run) =>
        `${run.runId}: its last evaluation is after ${run.evaluatedAfterSamples} of ${run.samples} samples${isElsewhere}; evaluate at the end`,
    )
}

/** Empty at the end. */
export function evaluatedWhere([run]: readonly RunSummary[]): string {
  if (!run || isAtEnd(run)) return ''
  const { samples, evaluatedAfterSamples: seen } = run
  return `; last evaluated after ${seen} of ${samples} samples, ${percent((samples - seen) / samples)} before the end`
}

function isAtEnd({ samples, evaluatedAfterSamples }: RunSummary): boolean {
  return samples === evaluatedAfterSamples
}

function isNearEnd({ samples, evaluatedAfterSamples: seen }: RunSummary): boolean {
  return seen <= samples && samples - seen <= MOST_AFTER * samples
}
