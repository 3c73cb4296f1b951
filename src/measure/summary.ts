// A finished run -> its numbers: one per metric, finite, units in the names.
import { VARIANTS, type Variant } from '../config/experiment.ts'
import { isMeasured, type PlannedRun } from '../plan/plan.ts'
import type { Evaluation } from '../read/events.ts'
import { meanOf, medianOf, sumOf } from '../statistics/averages.ts'
import { windowSamplesOf, withoutSlowWindows } from './fastest-steps.ts'
import type { CodeHashes, CompleteMetrics, RunOutcome } from './outcome.ts'
import { liesInStep, mayLieBeside } from './phases.ts'
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
import { type NoTimeToQuality, timeToEachQuality, timeToQuality } from './time-to-quality.ts'

export type FinishedRun = Extract<RunOutcome, { status: 'finished' }>

export interface RunSummary {
  readonly runId: string
  readonly purpose: PlannedRun['purpose']
  readonly variant: Variant
  readonly block: number | null
  /** As planned; what the trainer reports must agree. */
  readonly seed: number
  readonly reportedSeed: number
  readonly wallSeconds: number
  readonly code: CodeHashes | null
  readonly worldSize: number
  readonly parameterCount: number
  readonly dataHash: string
  readonly evaluationSamples: number
  readonly deviceNames: readonly string[]
  readonly versions: Readonly<Record<string, string>>
  readonly effective: Readonly<Record<string, string | number | boolean>>
  /** As the trainer reports it. */
  readonly config: Readonly<Record<string, unknown>>
  /** Sum over the steps. */
  readonly samples: number
  /** What run_end says; must agree. */
  readonly reportedSamples: number
  /** Samples seen before the last evaluation, from which the held-out numbers are. */
  readonly evaluatedAfterSamples: number
  /** Of each time to quality that is not among its metrics, though the baseline run of its block has finished. */
  readonly noTimeToQuality: Readonly<Record<string, NoTimeToQuality>>
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
  /** Of the part period behind them. */
  readonly untimedSamples: number
  /** Sum of step seconds / sum of samples over whole periods after the warm-up; null if nothing is left. */
  readonly secondsPerSample: number | null
  /** Change of ln(seconds per sample) over the timed steps: 0.02 is 2% slower at the end; null if there are too few. */
  readonly logTrend: number | null
  /** Of ln(seconds per sample), by the scatter within the run; null with too few timed steps. */
  readonly logStandardError: number | null
  readonly medianStepSeconds: number
  /** Share of the timed step seconds that waited for data; null if the trainer does not report it. */
  readonly dataWaitShare: number | null
  readonly trainingSeconds: number
  /** Training, every phase, and the evaluations that say how long they took. */
  readonly accountedSeconds: number
  /** The same without what lies in a step or may lie beside them. */
  readonly successiveSeconds: number
  /** Of any kind; 0 without one. */
  readonly longestPhaseSeconds: number
  /** Import, data, compile and capture. */
  readonly setUpSeconds: number
  readonly totalSeconds: number
  /** Of the first steps, by which seeds are told apart; empty where the trainer does not report them. */
  readonly firstTrainLosses: readonly number[]
  /** Mean of as many last steps; null where the trainer does not report that of every step. */
  readonly lastTrainLoss: number | null
  /** Of an optimized run: its training losses beside those of the baseline run of its block. */
  readonly sameSeed: SameSeed | null
  /** Metric name -> value, as gates name them. */
  readonly metrics: Readonly<Record<string, number>>
}

/**
 * All runs share one warm-up, the longest of the measured ones, so that both variants are timed over the same samples:
 * the same steps too, but for a recipe that takes more or fewer steps for them.
 */
export function summarizeRuns(runs: readonly FinishedRun[]): RunSummary[] {
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
  const timed = timedRange(steps.seconds.length, warmUp, periodSteps)
  const timedSeconds = sumOf(steps.seconds.slice(...timed))
  const secondsPerSample = timePerSample(metrics, timed)
  const hasDataWait = steps.dataWaitSeconds.length === steps.seconds.length && timedSeconds > 0
  const evaluationSeconds = sumOf(metrics.evaluations.map(({ seconds }) => seconds ?? 0))
  const phaseSeconds = (phases: CompleteMetrics['phases']) => sumOf(phases.map(({ seconds }) => seconds))
  const quality = baseline?.evaluations.at(-1)
  const toQuality = quality
    ? {
        time_to_quality_seconds: timeToQuality(metrics, quality),
        time_to_each_quality_seconds: timeToEachQuality(metrics, quality),
      }
    : {}
  const dataWaitShare = hasDataWait ? sumOf(steps.dataWaitSeconds.slice(...timed)) / timedSeconds : null
  return {
    ...identity(run),
    wallSeconds,
    code,
    reportedSeed: start.seed,
    worldSize: start.world_size,
    parameterCount: start.parameter_count,
    dataHash: start.data_hash,
    evaluationSamples: start.evaluation_samples,
    deviceNames: start.device_names,
    versions: start.versions,
    effective: start.effective,
    config: start.config,
    samples: sumOf(steps.samples),
    reportedSamples: end.samples,
    evaluatedAfterSamples: metrics.evaluations.at(-1)?.samples_seen ?? 0,
    noTimeToQuality: Object.fromEntries(
      Object.entries(toQuality).filter(
        (entry): entry is [string, NoTimeToQuality] => typeof entry[1] === 'object',
      ),
    ),
    resumedAtSteps: start.resumed_at_steps ?? [],
    attemptedUpdates: end.attempted_updates,
    skippedUpdates: end.skipped_updates,
    steps: steps.seconds.length,
    warmUpSteps: warmUp,
    warmUpSamples: samplesAfter(metrics, warmUp),
    periodSteps,
    timedPeriods: (timed[1] - timed[0]) / periodSteps,
    untimedSamples: sumOf(steps.samples.slice(timed[1])),
    secondsPerSample,
    logTrend: logTrend(metrics, warmUp),
    logStandardError: logStandardError(metrics, warmUp),
    medianStepSeconds: medianStep(steps.seconds, timed),
    dataWaitShare,
    trainingSeconds: sumOf(steps.seconds),
    accountedSeconds: sumOf(steps.seconds) + evaluationSeconds + phaseSeconds(metrics.phases),
    successiveSeconds:
      sumOf(steps.seconds) +
      evaluationSeconds +
      phaseSeconds(metrics.phases.filter((phase) => !liesInStep(phase, metrics) && !mayLieBeside(phase))),
    longestPhaseSeconds: largest(metrics.phases.map(({ seconds }) => seconds)) ?? 0,
    setUpSeconds: phaseSeconds(metrics.phases.filter(({ name }) => name !== 'checkpoint')),
    totalSeconds: end.total_seconds,
    firstTrainLosses: steps.trainLoss.slice(0, FIRST_STEPS),
    lastTrainLoss: losses.length > 0 ? meanOf(losses.slice(-FIRST_STEPS)) : null,
    sameSeed: run.variant === 'optimized' && baseline ? compareSameSeed(baseline, metrics) : null,
    metrics: finite({
      ...reportedMetrics(metrics),
      seconds_per_sample: secondsPerSample,
      data_wait_share: dataWaitShare,
      ...toQuality,
      ...atFastestSteps(
        { metrics, wallSeconds },
        withoutSlowWindows(metrics, timed, windowSamples),
        timed,
        quality,
      ),
      gpu_hours: gpuHours(metrics, wallSeconds),
    }),
  }
}

/** One may well be the same with any seed, where a training begins with zeros and all of its data. */
const FIRST_STEPS = 3

function identity({ id, purpose, variant, block, seed }: PlannedRun) {
  return { runId: id, purpose, variant, block, seed }
}

/** Not for gates: no run was so fast. */
function atFastestSteps(
  { metrics, wallSeconds }: Pick<FinishedRun, 'metrics' | 'wallSeconds'>,
  run: CompleteMetrics | null,
  timed: readonly [number, number],
  quality: Evaluation | undefined,
): MaybeMetrics {
  if (run === null) return {}
  const waited = sumOf(metrics.steps.seconds) - sumOf(run.steps.seconds)
  return {
    seconds_per_sample_at_fastest_steps: timePerSample(run, timed),
    total_seconds_at_fastest_steps: metrics.end.total_seconds - waited,
    gpu_hours_at_fastest_steps: gpuHours(metrics, wallSeconds - waited),
    time_to_quality_seconds_at_fastest_steps: quality && timeToQuality(run, quality),
    time_to_each_quality_seconds_at_fastest_steps: quality && timeToEachQuality(run, quality),
  }
}

/** The GPUs are taken from the launch to its end, so the seconds are those of the supervisor's clock. */
function gpuHours({ start }: CompleteMetrics, wallSeconds: number): number {
  return (wallSeconds * start.world_size) / 3600
}

function timePerSample({ steps }: CompleteMetrics, timed: readonly [number, number]): number | null {
  const [seconds, samples] = [sumOf(steps.seconds.slice(...timed)), sumOf(steps.samples.slice(...timed))]
  return samples > 0 && Number.isFinite(seconds) ? seconds / samples : null
}

/** First and last (exclusive) timed step; a part period at the end is left out. */
function timedRange(steps: number, warmUp: number, period: number): [number, number] {
  const first = Math.min(warmUp, steps)
  return [first, first + Math.floor((steps - first) / period) * period]
}

type MaybeMetrics = Readonly<Record<string, number | NoTimeToQuality | null | undefined>>

function reportedMetrics({ evaluations, end }: CompleteMetrics): MaybeMetrics {
  const last = evaluations.at(-1)
  return {
    total_seconds: end.total_seconds,
    val_loss: last?.val_loss,
    peak_memory_allocated_bytes: largest(end.peak_memory_allocated_bytes),
    peak_memory_reserved_bytes: largest(end.peak_memory_reserved_bytes),
    allocation_retries: largest(end.allocation_retries),
    ...Object.fromEntries(
      Object.entries(last?.metrics ?? {}).map(([name, value]) => [`evaluation.${name}`, value]),
    ),
  }
}

/** What was not measured is absent. */
function finite(metrics: MaybeMetrics): Record<string, number> {
  return Object.fromEntries(
    Object.entries(metrics).flatMap(([name, value]) =>
      typeof value === 'number' && Number.isFinite(value) ? [[name, value] as const] : [],
    ),
  )
}

/** Math.max(...) would overflow the stack on some hundred thousand numbers. */
function largest(values: readonly number[] = []): number | null {
  return values.reduce<number | null>((most, value) => Math.max(most ?? value, value), null)
}

/** Of all steps where none is timed; 0 without any. */
function medianStep(seconds: readonly number[], timed: readonly [number, number]): number {
  const counted = [seconds.slice(...timed), seconds].find(({ length }) => length > 0)
  return counted === undefined ? 0 : medianOf(counted)
}
