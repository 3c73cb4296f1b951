// The pure half of the line: outcomes -> measure -> judge -> the result that every report is rendered from.
import { gatesOf, type Variant } from './config/experiment.ts'
import { noiseFloorOf } from './judge/checks/aa.ts'
import { compare } from './judge/compare.ts'
import { lookRuleOf } from './judge/looks/look-rule.ts'
import { checkCompileCaches } from './judge/machine/compile-cache.ts'
import { checkInterconnect } from './judge/machine/interconnect.ts'
import { checkMachine, usedMachines } from './judge/machine/machine.ts'
import { asInvalid, withMachine } from './judge/machine/machine-verdict.ts'
import { checkNeighbours } from './judge/machine/rented.ts'
import { checkStepClock } from './judge/machine/step-clock.ts'
import { leastDeviation } from './judge/noise/least-deviation.ts'
import { chooseFloor, noiseKeyOf, trainingHash } from './judge/noise/noise-floor.ts'
import { type Attempts, checkRepeats, sortAttempts } from './judge/repeat.ts'
import { judge, type Verdict } from './judge/verdict.ts'
import { curvesOf } from './measure/curves.ts'
import { withHashedData } from './measure/data-hashes.ts'
import { summarizeMachines } from './measure/machine.ts'
import { UNWATCHED, type Watched } from './measure/machine-record.ts'
import { withMachineMetrics } from './measure/metrics/machine-metrics.ts'
import type { Launched, RunOutcome } from './measure/outcome.ts'
import type { Profiles } from './measure/profile/profile.ts'
import { NOT_REEVALUATED, type Reevaluation } from './measure/reevaluation.ts'
import { type FinishedRun, type RunSummary, summarizeRuns } from './measure/summary.ts'
import { lookAt } from './plan/looks.ts'
import { isMeasured } from './plan/plan.ts'
import { type Facts, worstFacts } from './read/facts.ts'
import { allDifferences } from './record/differences.ts'
import { type OutcomeLine, outcomeLine, type Request, type Result } from './record/result.ts'
import { RECORD_SCHEMA_VERSION } from './record/schema-version.ts'

/** `launched` has one entry per planned run, also for those that were not started, and one per repeat. */
export function assess(
  request: Request,
  launched: readonly Launched[],
  watched: Watched = UNWATCHED,
  reevaluation: Reevaluation = NOT_REEVALUATED,
  profiles: Profiles = null,
): Result {
  const { experiment, configs } = request
  const attempts = sortAttempts(launched, watched)
  const outcomes = outcomesOf(attempts.counting)
  const unwatched = summarizeRuns(finishedOf(outcomes))
  const machines = usedMachines(
    watched.preflight,
    unwatched,
    summarizeMachines(finishedOf(outcomesOf(launched)), watched),
  )
  const runs = unwatched.map((run) => withHashedData(withMachineMetrics(run, machines), request.data))
  const warmUpSteps = new Map(runs.map((run) => [run.runId, run.warmUpSteps]))
  const warmUpStepsOf = ({ run }: FinishedRun) => warmUpSteps.get(run.id) ?? 0
  const machineChecks = [
    ...checkMachine(watched.preflight, runs, machines),
    ...checkInterconnect(experiment, watched.preflight, attempts.counting),
    checkCompileCaches(attempts.counting),
    ...checkRepeats(attempts),
    ...checkStepClock(finishedOf(outcomes), warmUpStepsOf, watched),
    ...checkNeighbours(watched.preflight),
  ]
  const measuredBlocks = new Set(runs.filter(isMeasured).map(({ block }) => block)).size
  const keyOf = (variant: Variant) =>
    noiseKeyOf(
      trainingHash(experiment, configs, variant, request.environment),
      watched.preflight,
      // Revisions with other locks train with other versions, and a floor holds for its own alone.
      runs.filter((run) => run.variant === variant),
    )
  const floors = {
    baseline: chooseFloor(keyOf('baseline'), request.noiseFloors),
    optimized: chooseFloor(keyOf('optimized'), request.noiseFloors),
  }
  const look = lookAt(experiment, measuredBlocks)
  const comparison = compare(runs, gatesOf(experiment), lookRuleOf(look, leastDeviation(floors)))
  const judged = judge({ ...request, outcomes, runs, comparison, floors, reevaluation })
  const verdict = asInvalid(withMachine(judged, machineChecks), request.interference)
  const launches = launched.flatMap(({ launch }) => launch ?? [])
  return {
    ...request,
    schemaVersion: RECORD_SCHEMA_VERSION,
    differences: allDifferences(request),
    launches,
    reevaluation: reevaluation.launch,
    notRun: outcomes.find((outcome) => outcome.status === 'not-run')?.reason ?? 'stopped',
    facts: { baseline: factsOf(runs, 'baseline'), optimized: factsOf(runs, 'optimized') },
    outcomes: launched.map((one) => outcomeLine(one, setAsideIn(attempts, one))),
    runs,
    // Over the samples of both, which must be the same.
    curves: hasEqualWork(verdict) ? curvesOf(finishedOf(outcomes), warmUpStepsOf) : [],
    preflight: watched.preflight,
    machines,
    profiles,
    machineChecks,
    verdict,
    measuredFloor:
      verdict.aa && verdict.verdict === 'passed'
        ? noiseFloorOf(verdict.aa, keyOf('baseline'), {
            measured_at: launches[0]?.startedAt ?? '',
            revision: request.revision,
          })
        : null,
  }
}

function hasEqualWork({ checks }: Verdict): boolean {
  return checks.every(({ name, status }) => name !== 'equal work' || status !== 'failed')
}

function outcomesOf(launched: readonly Launched[]): RunOutcome[] {
  return launched.map(({ outcome }) => outcome)
}

function finishedOf(outcomes: readonly RunOutcome[]): FinishedRun[] {
  return outcomes.filter((outcome) => outcome.status === 'finished')
}

/** Its numbers alone: what does not count must not move the warm-up of what does. */
function setAsideIn({ setAside }: Attempts, launched: Launched): OutcomeLine['setAside'] {
  const reason = setAside.get(launched)
  if (reason === undefined) return null
  const [summary = null] = summarizeRuns(finishedOf([launched.outcome]))
  return { reason, summary }
}

function factsOf(runs: readonly RunSummary[], variant: Variant): Facts | null {
  return worstFacts(
    runs.filter((run) => run.variant === variant && isMeasured(run)).map(({ facts }) => facts),
  )
}
