// A finished run -> its numbers: one per metric, finite, units in the names.
import { VARIANTS, type Variant } from '../config/experiment.ts'
import { isMeasured, type PlannedRun } from '../plan/plan.ts'
import type { Held } from '../read/events.ts'
import type { Facts } from '../read/facts.ts'
import type { CompleteMetrics } from '../read/metrics-record.ts'
import { meanOf, sumOf } from '../statistics/averages.ts'
import type { WrittenIn } from '../statistics/resolution.ts'
import { leavingOutHeld } from './held-steps.ts'
import { windowSamplesOf } from './metrics/fastest-steps.ts'
import { metricsOf, type RunMetrics } from './metrics/run-metrics.ts'
import { countedPeriods, laterHalf, medianStep, timedSteps, timePerSample } from './metrics/timed-steps.ts'
import type { CodeHashes, RunOutcome } from './outcome.ts'
import { liesInStep, mayLieBeside } from './phases.ts'
import { recurringEvery } from './recurring-steps.ts'
import { compareSameSeed, lossesOf, type SameSeed } from './same-seed.ts'
import {
  declaredWarmUp,
  logStandardError,
  logTrend,
  periodOf,
  samplesAfter,
  settledAfter,
  stepsUntil,
} from './steady-state.ts'
import { writtenIn } from './written-in.ts'

export type FinishedRun = Extract<RunOutcome, { status: 'finished' }>

export interface RunSummary extends RunMetrics {
  readonly runId: string
  readonly purpose: PlannedRun['purpose']
  readonly variant: Variant
  readonly block: number | null
  /** Of its metrics, by name. */
  readonly reader: string
  readonly facts: Facts
  /** As planned; what the trainer reports must agree. Like all that follows, null where it is unknown. */
  readonly seed: number
  readonly reportedSeed: number | null
  readonly wallSeconds: number
  readonly code: CodeHashes | null
  readonly worldSize: number | null
  readonly parameterCount: number | null
  readonly dataHash: string | null
  readonly evaluationSamples: number | null
  /** Of the held-out samples of its evaluations, where these have one of their own. */
  readonly evaluationHash: string | null
  /** Empty where unknown, as the next two. */
  readonly deviceNames: readonly string[]
  readonly versions: Readonly<Record<string, string>>
  readonly effective: Readonly<Record<string, string | number | boolean>>
  /** Those of `effective` that say what a step computes; empty where the trainer does not tell. */
  readonly workKeys: readonly string[]
  /** As the trainer reports it. */
  readonly config: Readonly<Record<string, unknown>> | null
  /** Sum over the steps. */
  readonly samples: number
  /** What run_end says; must agree. */
  readonly reportedSamples: number
  /** Samples seen before the last evaluation, from which the held-out numbers are. */
  readonly evaluatedAfterSamples: number
  /** How coarsely each held-out number is written, over all evaluations of the run. */
  readonly writtenIn: Readonly<Record<string, WrittenIn>>
  /** Last step of each earlier part; empty for a run of one process. */
  readonly resumedAtSteps: readonly number[]
  readonly attemptedUpdates: number
  readonly skippedUpdates: number
  readonly steps: number
  /** The first steps, which train and count as samples, but not as timing. */
  readonly warmUpSteps: number
  /** Those of the warm-up steps; beyond the end of the run as if it went on. */
  readonly warmUpSamples: number
  /** The work of a step repeats with this period. */
  readonly periodSteps: number
  /** Combined ones after the warm-up, which alone are timed. */
  readonly timedPeriods: number
  /** Timed steps that were left out, since they hold an evaluation or a checkpoint. */
  readonly leftOutSteps: number
  /** What the timed steps contain besides steps. */
  readonly stepsInclude: readonly Held[]
  /** Of the part period behind them. */
  readonly untimedSamples: number
  /** Change of ln(seconds per sample) over the timed steps: 0.02 is 2% slower at the end; null if there are too few. */
  readonly logTrend: number | null
  /** Of the later half of the timed periods alone; null where none is timed. */
  readonly laterHalfSecondsPerSample: number | null
  /** Steps from one long step after the warm-up to the next, where they come back regularly and period_steps is 1. */
  readonly longStepsEvery: number | null
  /** Of ln(seconds per sample), by the scatter within the run; null with too few timed steps. */
  readonly logStandardError: number | null
  readonly medianStepSeconds: number
  readonly trainingSeconds: number
  /** Training, every phase, and the evaluations that say how long they took. */
  readonly accountedSeconds: number
  /** The same without what lies in a step or may run at the same time. */
  readonly successiveSeconds: number
  /** Of any kind; 0 without one. */
  readonly longestPhaseSeconds: number
  /** Import, data, compile and capture. */
  readonly setUpSeconds: number
  /** Of the first steps, by which seeds are told apart; empty where the trainer does not report them. */
  readonly firstTrainLosses: readonly number[]
  /** Mean of as many last steps; null where the trainer does not report that of every step. */
  readonly lastTrainLoss: number | null
  /** Of an optimized run: its training losses compared with those of the baseline run of its block. */
  readonly sameSeed: SameSeed | null
}

/**
 * All runs share one warm-up, the longest of the measured ones, so that both variants are timed over the same samples:
 * the same steps too, but for a recipe that takes more or fewer steps for them.
 */
export function summarizeRuns(finished: readonly FinishedRun[]): RunSummary[] {
  const runs = leavingOutHeld(finished)
  const warmUpSamples = sharedWarmUpSamples(runs)
  const windowSamples = windowSamplesOf(measuredOf(runs).map(({ metrics }) => metrics))
  return runs.map((run) => {
    const baseline = baselineOf(run, runs)
    const warmUp = stepsUntil(run.metrics, warmUpSamples)
    return summarize(run, { warmUp, windowSamples }, baseline?.metrics ?? null)
  })
}

/** A warm-up launch may have other steps than those that are timed; all, where there are no others. */
function measuredOf(runs: readonly FinishedRun[]): readonly FinishedRun[] {
  const measured = runs.filter(({ run }) => isMeasured(run))
  return measured.length > 0 ? measured : runs
}

function sharedWarmUpSamples(runs: readonly FinishedRun[]): number {
  const measured = runs.filter(({ run }) => isMeasured(run))
  const declared = measuredOf(runs).map(({ metrics }) => samplesAfter(metrics, declaredWarmUp(metrics)))
  const warmUpSamples = Math.max(0, ...declared)
  const settled = VARIANTS.map((variant) => {
    const ofVariant = measured.flatMap(({ run, metrics }) => (run.variant === variant ? [metrics] : []))
    const steps = settledAfter(
      ofVariant,
      Math.max(0, ...ofVariant.map((run) => stepsUntil(run, warmUpSamples))),
    )
    return Math.max(0, ...ofVariant.map((run) => samplesAfter(run, steps)))
  })
  return Math.max(warmUpSamples, ...settled)
}

/** The baseline run of the same block; of a baseline run that is itself. */
function baselineOf({ run }: FinishedRun, runs: readonly FinishedRun[]): FinishedRun | undefined {
  if (!isMeasured(run)) return undefined
  return runs.find((other) => other.run.block === run.block && other.run.variant === 'baseline')
}

function summarize(
  { run, wallSeconds, code, metrics }: FinishedRun,
  { warmUp, windowSamples }: { readonly warmUp: number; readonly windowSamples: number },
  baseline: CompleteMetrics | null,
): RunSummary {
  const { start, end, steps } = metrics
  const losses = lossesOf(metrics) ?? []
  const periodSteps = periodOf(metrics)
  const timed = timedSteps(steps.seconds.length, warmUp, periodSteps)
  const evaluationSeconds = sumOf(metrics.evaluations.map(({ seconds }) => seconds ?? 0))
  const phaseSeconds = (phases: CompleteMetrics['phases']) => sumOf(phases.map(({ seconds }) => seconds))
  const quality = baseline?.evaluations.at(-1)
  // Without step seconds there is no entry for each step, only what the end counts.
  const isTimed = metrics.facts.step_seconds !== 'unknown'
  const timedPeriods =
    steps.held.length > 0 ? countedPeriods(metrics, timed).length : (timed[1] - timed[0]) / periodSteps
  return {
    ...identity(run),
    ...metricsOf({ metrics, wallSeconds, timed, quality }, windowSamples),
    wallSeconds,
    code,
    reader: metrics.reader,
    facts: metrics.facts,
    reportedSeed: start.seed ?? null,
    worldSize: start.world_size ?? null,
    parameterCount: start.parameter_count ?? null,
    dataHash: start.data_hash ?? null,
    evaluationSamples: metrics.evaluations.at(-1)?.evaluation_samples ?? start.evaluation_samples ?? null,
    evaluationHash: hashOf(metrics.evaluations),
    deviceNames: start.device_names ?? [],
    versions: start.versions ?? {},
    effective: start.effective ?? {},
    workKeys: start.work_keys ?? [],
    config: start.config ?? null,
    samples: isTimed ? sumOf(steps.samples) : end.samples,
    reportedSamples: end.samples,
    evaluatedAfterSamples: metrics.evaluations.at(-1)?.samples_seen ?? 0,
    writtenIn: writtenIn(metrics.evaluations),
    resumedAtSteps: start.resumed_at_steps ?? [],
    attemptedUpdates: end.attempted_updates,
    skippedUpdates: end.skipped_updates,
    steps: isTimed ? steps.seconds.length : end.attempted_updates,
    warmUpSteps: warmUp,
    warmUpSamples: samplesAfter(metrics, warmUp),
    periodSteps,
    timedPeriods,
    leftOutSteps: timed[1] - timed[0] - timedPeriods * periodSteps,
    stepsInclude: start.steps_include ?? [],
    untimedSamples: sumOf(steps.samples.slice(timed[1])),
    logTrend: logTrend(metrics, warmUp),
    laterHalfSecondsPerSample: timePerSample(metrics, laterHalf(timed, periodSteps)),
    longStepsEvery: periodSteps === 1 ? recurringEvery(steps.seconds.slice(...timed)) : null,
    logStandardError: logStandardError(metrics, warmUp),
    medianStepSeconds: medianStep(metrics, timed),
    trainingSeconds: sumOf(steps.seconds),
    accountedSeconds: sumOf(steps.seconds) + evaluationSeconds + phaseSeconds(metrics.phases),
    successiveSeconds:
      sumOf(steps.seconds) +
      evaluationSeconds +
      phaseSeconds(metrics.phases.filter((phase) => !liesInStep(phase, metrics) && !mayLieBeside(phase))),
    longestPhaseSeconds: longest(metrics.phases),
    setUpSeconds: phaseSeconds(metrics.phases.filter(({ name }) => name !== 'checkpoint')),
    firstTrainLosses: steps.trainLoss.slice(0, FIRST_STEPS),
    lastTrainLoss: losses.length > 0 ? meanOf(losses.slice(-FIRST_STEPS)) : null,
    sameSeed: run.variant === 'optimized' && baseline ? compareSameSeed(baseline, metrics) : null,
  }
}

/** One may well be the same with any seed, where a training begins with zeros and all of its data. */
const FIRST_STEPS = 3

function identity({ id, purpose, variant, block, seed }: PlannedRun) {
  return { runId: id, purpose, variant, block, seed }
}

/** That of the last evaluation, from which the held-out numbers are; then those of other sets, as they came. */
function hashOf(evaluations: CompleteMetrics['evaluations']): string | null {
  const hashes = evaluations.map(({ data_hash }) => data_hash ?? null)
  if (hashes.every((hash) => hash === null)) return null
  return [...new Set([hashes.at(-1), ...hashes])].map((hash) => hash ?? 'not reported').join(', ')
}

/** Math.max(...) would overflow the stack on some hundred thousand numbers. */
function longest(phases: CompleteMetrics['phases']): number {
  return phases.reduce((most, { seconds }) => Math.max(most, seconds), 0)
}
