// Was each run timed in a steady state: after its warm-up, over whole periods, without a trend that matters?
import { type Experiment, gatesOf, VARIANTS, type Variant } from '../../config/experiment.ts'
import type { Gate } from '../../config/gates/gates.ts'
import { MATTERS, MIN_RUNS_TO_TELL } from '../../measure/steady-state.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { metricNamed } from '../../metrics/families.ts'
import { looksOf } from '../../plan/looks.ts'
import { listed, statusText } from '../../text/wording.ts'
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
  const trendText = `${trends.join('; ')}${recurringText(measured)}`
  const { status, text } = ofLaterHalf(experiment, measured, look)
  if (status === 'failed') return checkOf(name, [...problems, `${trendText}. ${text}`], '')
  if (problems.length > 0) return checkOf(name, problems, '')
  return { name, status, detail: `${trendText}. ${text}` }
}

function confidenceOf(experiment: Experiment): number {
  return 1 - TREND_ERROR / (2 * VARIANTS.length * looksOf(experiment).length)
}

interface OfLaterHalf {
  readonly status: 'warned' | 'inconclusive' | 'failed'
  readonly text: string
}

/** Does it matter that the steps have a trend? Not where the later half alone decides the required gates in the same way. */
function ofLaterHalf(experiment: Experiment, runs: readonly RunSummary[], look: LookRule): OfLaterHalf {
  if (experiment.mode === 'aa')
    return { status: 'failed', text: 'A noise floor of such runs would not be that of a steady state' }
  const comparisons = compare(runs, gatesOf(experiment).filter(needsTimedSteps), look).gates
  if (comparisons.length === 0) return { status: 'warned', text: 'No required gate rests on the timed steps' }
  const others = comparisons.filter(({ gate }) => gate.metric !== SECONDS_PER_SAMPLE)
  if (others.length > 0) {
    const names = listed(others.map(({ gate }) => gate.name))
    return { status: 'failed', text: `The later half of the steps alone cannot judge ${names}` }
  }
  const later = compare(
    runs.map(inLaterHalf),
    comparisons.map(({ gate }) => gate),
    look,
  ).gates.map((comparison) => judgeGate(comparison))
  const decided = comparisons
    .map((comparison) => judgeGate(comparison))
    .filter(({ status }) => status === 'passed' || status === 'failed')
  const changed = decided.flatMap(({ gate: { name }, status }) => {
    const other = later.find(({ gate }) => gate.name === name)
    return other === undefined || other.status === status ? [] : [other]
  })
  if (changed.length === 0)
    return {
      status: 'warned',
      text:
        decided.length === comparisons.length
          ? 'The later half of the steps alone decides the same'
          : 'The later half of the steps alone contradicts no gate that is decided',
    }
  const isOpen = changed.every(({ status, staysOpen }) => status === 'inconclusive' && !staysOpen)
  return {
    status: isOpen && !isLastLook(experiment, runs) ? 'inconclusive' : 'failed',
    text: changed
      .map(
        ({ gate, status }) =>
          `With the later half of the steps alone, ${gate.name} would be ${statusText(status)}`,
      )
      .join('; '),
  }
}

function needsTimedSteps({ severity, metric }: Gate): boolean {
  return severity === 'required' && metricNamed(metric).isOfTimedSteps === true
}

function isLastLook(experiment: Experiment, runs: readonly RunSummary[]): boolean {
  const last = looksOf(experiment).at(-1) ?? 0
  return runs.some(({ block }) => (block ?? 0) >= last)
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
