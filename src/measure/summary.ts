// A finished run -> its numbers: one per metric, finite, units in the names.
import type { Variant } from '../config/experiment.ts'
import type { PlannedRun } from '../plan/plan.ts'
import type { RunOutcome, WholeMetrics } from './outcome.ts'

export type FinishedRun = Extract<RunOutcome, { status: 'finished' }>

export interface RunSummary {
  readonly runId: string
  readonly variant: Variant
  readonly block: number | null
  /** As planned; what the trainer reports must agree. */
  readonly seed: number
  readonly reportedSeed: number
  readonly wallSeconds: number
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
  readonly attemptedUpdates: number
  readonly skippedUpdates: number
  readonly steps: number
  /** The first steps, which train and count as samples, but not as timing. */
  readonly warmUpSteps: number
  /** Sum of step seconds / sum of samples over whole periods after the warm-up; null if nothing is left. */
  readonly secondsPerSample: number | null
  readonly medianStepSeconds: number
  /** Share of the timed step seconds that waited for data; null if the trainer does not report it. */
  readonly dataWaitShare: number | null
  readonly trainingSeconds: number
  /** Import, data, compile and capture. */
  readonly setUpSeconds: number
  readonly totalSeconds: number
  /** Metric name -> value, as gates name them. */
  readonly metrics: Readonly<Record<string, number>>
}

/** The larger of 10 steps and 10%, and never less than the last compile or capture. */
export function warmUpSteps({ steps, phases }: WholeMetrics): number {
  const setUpEnds = phases
    .filter(({ name }) => name === 'compile' || name === 'capture')
    .map(({ step }) => step ?? 0)
  return Math.max(10, Math.ceil(steps.seconds.length / 10), largest(setUpEnds) ?? 0)
}

/** All runs share one warm-up, the longest, so that both variants are timed over the same steps. */
export function summarizeRuns(runs: readonly FinishedRun[]): RunSummary[] {
  const warmUp = Math.max(0, ...runs.map(({ metrics }) => warmUpSteps(metrics)))
  return runs.map((run) => summarize(run, warmUp))
}

function summarize({ run, wallSeconds, metrics }: FinishedRun, warmUp: number): RunSummary {
  const { start, end, steps } = metrics
  const timed = timedRange(steps.seconds.length, warmUp, start.period_steps ?? 1)
  const timedSeconds = sum(steps.seconds.slice(...timed))
  const timedSamples = sum(steps.samples.slice(...timed))
  const secondsPerSample =
    timedSamples > 0 && Number.isFinite(timedSeconds) ? timedSeconds / timedSamples : null
  const hasDataWait = steps.dataWaitSeconds.length === steps.seconds.length && timedSeconds > 0
  return {
    ...identity(run),
    wallSeconds,
    reportedSeed: start.seed,
    worldSize: start.world_size,
    parameterCount: start.parameter_count,
    dataHash: start.data_hash,
    evaluationSamples: start.evaluation_samples,
    deviceNames: start.device_names,
    versions: start.versions,
    effective: start.effective,
    config: start.config,
    samples: sum(steps.samples),
    reportedSamples: end.samples,
    evaluatedAfterSamples: metrics.evaluations.at(-1)?.samples_seen ?? 0,
    attemptedUpdates: end.attempted_updates,
    skippedUpdates: end.skipped_updates,
    steps: steps.seconds.length,
    warmUpSteps: warmUp,
    secondsPerSample,
    medianStepSeconds: median(steps.seconds.slice(...timed)) ?? median(steps.seconds) ?? 0,
    dataWaitShare: hasDataWait ? sum(steps.dataWaitSeconds.slice(...timed)) / timedSeconds : null,
    trainingSeconds: sum(steps.seconds),
    setUpSeconds: sum(
      metrics.phases.filter(({ name }) => name !== 'checkpoint').map(({ seconds }) => seconds),
    ),
    totalSeconds: end.total_seconds,
    metrics: metricsOf(metrics, secondsPerSample),
  }
}

function identity({ id, variant, block, seed }: PlannedRun) {
  return { runId: id, variant, block, seed }
}

/** First and last (exclusive) timed step; a part period at the end is left out. */
function timedRange(steps: number, warmUp: number, period: number): [number, number] {
  const first = Math.min(warmUp, steps)
  return [first, first + Math.floor((steps - first) / period) * period]
}

function metricsOf(
  { evaluations, end }: WholeMetrics,
  secondsPerSample: number | null,
): Record<string, number> {
  const last = evaluations.at(-1)
  const found: Record<string, number | null | undefined> = {
    seconds_per_sample: secondsPerSample,
    total_seconds: end.total_seconds,
    val_loss: last?.val_loss,
    peak_memory_allocated_bytes: largest(end.peak_memory_allocated_bytes),
    peak_memory_reserved_bytes: largest(end.peak_memory_reserved_bytes),
    ...Object.fromEntries(
      Object.entries(last?.metrics ?? {}).map(([name, value]) => [`evaluation.${name}`, value]),
    ),
  }
  return Object.fromEntries(
    Object.entries(found).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name, value] as const] : [],
    ),
  )
}

/** Math.max(...) would overflow the stack on some hundred thousand numbers. */
function largest(values: readonly number[] = []): number | null {
  return values.reduce<number | null>((most, value) => Math.max(most ?? value, value), null)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle]
  if (upper === undefined) return null
  const lower = sorted.length % 2 === 0 ? sorted[middle - 1] : upper
  return ((lower ?? upper) + upper) / 2
}
