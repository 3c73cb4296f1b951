// The pure half of the line: outcomes -> measure -> judge -> the result that every report is rendered from.
import { gatesOf } from './config/experiment.ts'
import { declaredDifferences, environmentDifferences } from './config/same-work.ts'
import { compare } from './judge/compare.ts'
import { judge } from './judge/verdict.ts'
import type { Launched } from './measure/outcome.ts'
import { summarizeRuns } from './measure/summary.ts'
import { confidenceOf } from './plan/looks.ts'
import { outcomeLine, RESULT_SCHEMA_VERSION, type Request, type Result } from './report/result.ts'

/** `launched` has one entry per planned run, also for those that were not started. */
export function assess(request: Request, launched: readonly Launched[]): Result {
  const { experiment, configs } = request
  const outcomes = launched.map(({ outcome }) => outcome)
  const runs = summarizeRuns(outcomes.filter((outcome) => outcome.status === 'finished'))
  const comparison = compare(runs, gatesOf(experiment), confidenceOf(experiment))
  return {
    ...request,
    schemaVersion: RESULT_SCHEMA_VERSION,
    differences: [...declaredDifferences(experiment.kind, configs), ...environmentDifferences(experiment)],
    launches: launched.flatMap(({ launch }) => launch ?? []),
    notRun: outcomes.find((outcome) => outcome.status === 'not-run')?.reason ?? 'stopped',
    outcomes: outcomes.map(outcomeLine),
    runs,
    verdict: judge(experiment, outcomes, runs, comparison),
  }
}
