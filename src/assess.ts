// The pure half of the line: outcomes -> measure -> judge -> the result that every report is rendered from.
import { gatesOf } from './config/experiment.ts'
import { declaredDifferences, environmentDifferences } from './config/same-work.ts'
import { compare } from './judge/compare.ts'
import { checkMachine } from './judge/machine.ts'
import { withMachine } from './judge/machine-verdict.ts'
import { judge } from './judge/verdict.ts'
import { summarizeMachines, withMachineMetrics } from './measure/machine.ts'
import { UNWATCHED, type Watched } from './measure/machine-record.ts'
import type { Launched } from './measure/outcome.ts'
import { summarizeRuns } from './measure/summary.ts'
import { confidenceOf } from './plan/looks.ts'
import { outcomeLine, RESULT_SCHEMA_VERSION, type Request, type Result } from './report/result.ts'

/** `launched` has one entry per planned run, also for those that were not started. */
export function assess(
  request: Request,
  launched: readonly Launched[],
  watched: Watched = UNWATCHED,
): Result {
  const { experiment, configs } = request
  const outcomes = launched.map(({ outcome }) => outcome)
  const unwatched = summarizeRuns(outcomes.filter((outcome) => outcome.status === 'finished'))
  const machines = summarizeMachines(unwatched, watched)
  const runs = unwatched.map((run) => withMachineMetrics(run, machines))
  const machineChecks = checkMachine(watched.preflight, runs, machines)
  const comparison = compare(runs, gatesOf(experiment), confidenceOf(experiment))
  return {
    ...request,
    schemaVersion: RESULT_SCHEMA_VERSION,
    differences: [...declaredDifferences(experiment.kind, configs), ...environmentDifferences(experiment)],
    launches: launched.flatMap(({ launch }) => launch ?? []),
    notRun: outcomes.find((outcome) => outcome.status === 'not-run')?.reason ?? 'stopped',
    outcomes: outcomes.map(outcomeLine),
    runs,
    preflight: watched.preflight,
    machines,
    machineChecks,
    verdict: withMachine(judge(experiment, outcomes, runs, comparison), machineChecks),
  }
}
