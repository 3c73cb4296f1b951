// Was each run timed in a steady state: after its warm-up, over whole periods, without a trend that matters?
import { type Experiment, gatesOf, VARIANTS, type Variant } from '../../config/experiment.ts'
import { MATTERS, MIN_RUNS_TO_TELL } from '../../measure/steady-state.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { looksOf } from '../../plan/looks.ts'
import { statusText } from '../../text/wording.ts'
import { compare } from '../compare.ts'
import { judgeGate } from '../gates/gate-verdict.ts'
import { LOOK_AT_95, type LookRule } from '../looks/look-rule.ts'
import { bothAt, pairedMean } from '../paired.ts'
import type { VerdictInput } from '../verdict-input.ts'
import { type Check, checkOf, withoutStepSeconds } from './check.ts'
import { perVariant } from './run-differences.ts'

/** That luck shows a trend: over both variants, both directions and all looks together. */
const TREND_ERROR = 0.02

export function checkSteadyState({
  experiment,
  measured,
  look = LOOK_AT_95,
}: Pick<VerdictInput, 'experiment' | 'measured'> & { readonly look?: LookRule }): Check {
  const name = 'steady state'
  const untimed = withoutStepSeconds(name, measured)
  if (untimed !== null) return untimed
  const detail = `${steadyStateDetail(measured)}${recurringText(measured)}`
  const problems = [...measured.flatMap(warmUpProblems), ...measured.flatMap(periodProblems)]
  const trends = VARIANTS.flatMap((variant) => trendProblems(variant, measured, confidenceOf(experiment)))
  if (trends.length === 0) return checkOf(name, problems, detail)
  const changed = changedByLaterHalf(experiment, measured, look)
  const trendText = `${trends.join('; ')}${recurringText(measured)}`
  if (changed !== null) return checkOf(name, [...problems, `${trendText}. ${changed}`], '')
  if (problems.length > 0) return checkOf(name, problems, '')
  return {
    name,
    status: 'warned',
    detail: `${trendText}. The later half of the steps alone decides the same`,
  }
}

function confidenceOf(experiment: Experiment): number {
  return 1 - TREND_ERROR / (2 * VARIANTS.length * looksOf(experiment).length)
}

/** Null where every required gate that is decided would be decided in the same way. */
function changedByLaterHalf(
  experiment: Experiment,
  runs: readonly RunSummary[],
  look: LookRule,
): string | null {
  const gates = gatesOf(experiment).filter(
    ({ severity, metric }) => severity === 'required' && metric === SECONDS_PER_SAMPLE,
  )
  const statusesOf = (of: readonly RunSummary[]) =>
    compare(of, gates, look).gates.map((gate) => judgeGate(gate).status)
  const [all, later] = [statusesOf(runs), statusesOf(runs.map(inLaterHalf))]
  const changed = gates.flatMap(({ name }, index) => {
    const [one, other] = [all[index], later[index]]
    return (one === 'passed' || one === 'failed') && other !== undefined && other !== one
      ? [`With the later half of the steps alone, ${name} would be ${statusText(other)}`]
      : []
  })
  return changed.length === 0 ? null : changed.join('; ')
}

function inLaterHalf(run: RunSummary): RunSummary {
  const { [SECONDS_PER_SAMPLE]: _, ...others } = run.metrics
  const later = run.laterHalfSecondsPerSample
  return { ...run, metrics: later === null ? others : { ...others, [SECONDS_PER_SAMPLE]: later } }
}

/** Steps of one kind alone have no trend; with the long ones of each epoch a run seems to have one. */
function recurringText(runs: readonly RunSummary[]): string {
  const every = [...new Set(runs.map(({ longStepsEvery }) => longStepsEvery))]
  const [steps] = every
  return every.length === 1 && typeof steps === 'number'
    ? `. Longer steps come back every ${steps} steps; report period_steps: ${steps} to time whole periods`
    : ''
}

function steadyStateDetail(runs: readonly RunSummary[]): string {
  const warmUp = perVariant(runs, ({ warmUpSteps }) => warmUpSteps)
  const period = perVariant(runs, ({ periodSteps }) => periodSteps)
  const timed =
    warmUp.all === null
      ? `timed after the same samples in all runs, warm-up steps: ${warmUp.each}`
      : `timed after ${warmUp.all} warm-up steps, the same for all runs`
  const leftOut = perVariant(runs, ({ leftOutSteps }) => leftOutSteps)
  const held =
    leftOut.all === 0
      ? ''
      : `; steps left out, which hold an evaluation or a checkpoint: ${leftOut.all ?? leftOut.each}`
  return period.all === 1
    ? `${timed}${held}`
    : `${timed}${held}; in whole periods, steps: ${period.all ?? period.each}`
}

/** As many as the shortest warm-up has. */
const MIN_TIMED_STEPS = 10

function warmUpProblems({
  runId,
  warmUpSteps,
  warmUpSamples,
  steps,
  samples,
  leftOutSteps,
}: RunSummary): string[] {
  if (warmUpSamples * 2 > samples)
    return [
      `${runId}: the warm-up takes ${warmUpSamples} of ${samples} samples (steps: ${warmUpSteps} of ${steps}). Train on at least ${warmUpSamples * 2} samples`,
    ]
  const left = steps - warmUpSteps - leftOutSteps
  const without = leftOutSteps > 0 ? ` and ${leftOutSteps} that hold an evaluation or a checkpoint` : ''
  if (left < MIN_TIMED_STEPS)
    return [
      `${runId}: ${left} steps are left after ${warmUpSteps} warm-up steps${without}, expected at least ${MIN_TIMED_STEPS}. Make the run longer`,
    ]
  return []
}

/** Fewer show no trend. */
const MIN_TIMED_PERIODS = 3

/** Of the samples after the warm-up: steps behind the last whole period are not timed, and may be slow ones. */
const MOST_UNTIMED = 0.1

function periodProblems(run: RunSummary): string[] {
  const { runId, periodSteps, timedPeriods, untimedSamples, samples, warmUpSamples } = run
  if (timedPeriods < MIN_TIMED_PERIODS)
    return [
      `${runId}: ${timedPeriods} whole periods of ${periodSteps} steps (period_steps) are left after the warm-up. Make the run longer: it needs at least ${MIN_TIMED_PERIODS}`,
    ]
  return untimedSamples > MOST_UNTIMED * (samples - warmUpSamples)
    ? [
        `${runId}: ${untimedSamples} of ${samples - warmUpSamples} samples after the warm-up follow the last whole period of ${periodSteps} steps (period_steps), so they are not timed. Make the run longer`,
      ]
    : []
}

/** As many as the shortest warm-up takes. */
const MIN_WARM_UP_STEPS = 10

/** By any warm-up and however many runs follow. */
export function tooFewSteps({ runId, steps, periodSteps, facts }: RunSummary): string[] {
  const needed = MIN_WARM_UP_STEPS + Math.max(MIN_TIMED_STEPS, MIN_TIMED_PERIODS * periodSteps)
  return facts.step_seconds === 'unknown' || steps >= needed
    ? []
    : [`${runId}: has ${steps} steps, expected at least ${needed}. Make the run longer`]
}

/**
 * A trend of one run may be luck, and then widens the interval like all luck; a trend that the runs of a variant share
 * is not luck. So each run is one number, and the whole interval of their mean must lie beyond 2%.
 */
function trendProblems(variant: Variant, runs: readonly RunSummary[], confidence: number): string[] {
  const trends = runs.flatMap((run) => (run.variant === variant ? (run.logTrend ?? []) : []))
  const shared = trends.length < MIN_RUNS_TO_TELL ? null : pairedMean(trends, bothAt(confidence))
  if (!shared?.bounds) return []
  const { lower, upper } = shared.bounds
  if (lower <= MATTERS && upper >= -MATTERS) return []
  const direction = shared.estimate > 0 ? 'slower' : 'faster'
  return [
    `${variant}: over the timed steps all ${trends.length} runs get ${direction} by more than 2%. Make the runs longer, or find what changes`,
  ]
}
