// A judged experiment with what its pictures are drawn from.
import type { Watched } from '../../measure/machine-record.ts'
import type { Launched } from '../../measure/outcome.ts'
import { tracesOf } from '../../measure/traces/traces.ts'
import { isMeasured } from '../../plan/plan.ts'
import type { Result } from '../../record/result.ts'
import type { ReportedExperiment } from './section.ts'

/** `points`: of each curve. */
export function reportedExperiment(
  result: Result,
  launched: readonly Launched[],
  watched: Watched,
  points: number,
): ReportedExperiment {
  const measured = result.runs.filter(isMeasured)
  const warmUpSteps = new Map(measured.map(({ runId, warmUpSteps }) => [runId, warmUpSteps]))
  const counted = {
    runIds: new Set(warmUpSteps.keys()),
    warmUpStepsOf: ({ run }: { run: { id: string } }) => warmUpSteps.get(run.id) ?? 0,
  }
  return { result, traces: tracesOf(launched, watched, counted, points) }
}
