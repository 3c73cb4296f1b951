// Steps whose seconds hold an evaluation or a checkpoint are not timed, if both variants have them at the same places.
import type { PlannedRun } from '../plan/plan.ts'
import { isMeasured } from '../plan/plan.ts'
import type { CompleteMetrics } from '../read/metrics-record.ts'
import { sumOf } from '../statistics/averages.ts'

interface Run {
  readonly run: PlannedRun
  readonly metrics: CompleteMetrics
}

/**
 * Where the measured runs hold them after other samples, or some of them none, none is left out: a variant that names
 * more steps would leave out its slow ones. Then the seconds include what the steps hold, and say so.
 */
export function leavingOutHeld<Finished extends Run>(runs: readonly Finished[]): readonly Finished[] {
  const measured = runs.filter(({ run }) => isMeasured(run))
  const isAlike = new Set((measured.length > 0 ? measured : runs).map(placesText)).size < 2
  return isAlike ? runs : runs.map((one) => ({ ...one, metrics: including(one.metrics) }))
}

/** Samples before each of them, and what it holds. */
function placesText({ metrics: { steps } }: Run): string {
  let [step, samples] = [0, 0]
  return steps.held
    .map(({ index, what }) => {
      samples += sumOf(steps.samples.slice(step, index))
      step = index
      return `${what} ${samples}`
    })
    .join(', ')
}

function including(metrics: CompleteMetrics): CompleteMetrics {
  const { held } = metrics.steps
  if (held.length === 0) return metrics
  const include = new Set([...(metrics.start.steps_include ?? []), ...held.map(({ what }) => what)])
  return {
    ...metrics,
    start: { ...metrics.start, steps_include: [...include] },
    steps: { ...metrics.steps, held: [] },
  }
}
