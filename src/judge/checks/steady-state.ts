// Was each run timed in a steady state: after its warm-up, over whole periods, without a trend?
import { type Experiment, VARIANTS, type Variant } from '../../config/experiment.ts'
import { MATTERS, MIN_RUNS_TO_TELL } from '../../measure/steady-state.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { looksOf } from '../../plan/looks.ts'
import { bothAt, pairedMean } from '../paired.ts'
import type { VerdictInput } from '../verdict-input.ts'
import { type Check, checkOf, withoutStepSeconds } from './check.ts'
import { perVariant } from './run-differences.ts'

/** That luck shows a trend: over both variants, both directions and all looks together. */
const TREND_ERROR = 0.02

export function checkSteadyState({
  experiment,
  measured,
}: Pick<VerdictInput, 'experiment' | 'measured'>): Check {
  const untimed = withoutStepSeconds('steady state', measured)
  return (
    untimed ?? checkOf('steady state', steadyStateProblems(experiment, measured), steadyStateDetail(measured))
  )
}

function steadyStateProblems(experiment: Experiment, runs: readonly RunSummary[]): string[] {
  const confidence = 1 - TREND_ERROR / (2 * VARIANTS.length * looksOf(experiment).length)
  return [
    ...runs.flatMap(warmUpProblems),
    ...runs.flatMap(periodProblems),
    ...VARIANTS.flatMap((variant) => trendProblems(variant, runs, confidence)),
  ]
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
