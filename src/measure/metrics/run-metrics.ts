// A finished run -> its metrics, one function each, as gates name them.
import { CATALOGUE, HELD_OUT_LOSS, type MetricFrom, type MetricName } from '../../metrics/catalogue.ts'
import { atFastestSteps, evaluationMetric } from '../../metrics/families.ts'
import type { MetricRow } from '../../metrics/row.ts'
import type { Evaluation } from '../../read/events.ts'
import type { CompleteMetrics } from '../../read/metrics-record.ts'
import { sumOf } from '../../statistics/averages.ts'
import { withoutSlowWindows } from './fastest-steps.ts'
import { type NoTimeToQuality, timeToEachQuality, timeToQuality } from './time-to-quality.ts'
import { dataWaitShare, type TimedSteps, timePerSample } from './timed-steps.ts'

/** Name -> value; what was not measured is absent. */
export type Metrics = Readonly<Record<string, number>>

export interface MeasuredRun {
  readonly metrics: CompleteMetrics
  /** By the supervisor's clock. */
  readonly wallSeconds: number
  readonly timed: TimedSteps
  /** What the baseline run of its block ends with; absent where that has not finished. */
  readonly quality: Evaluation | undefined
}

type Measured = number | NoTimeToQuality | null | undefined

const MEASURES: Readonly<Record<MetricFrom<'run'>, (run: MeasuredRun) => Measured>> = {
  seconds_per_sample: ({ metrics, timed }) => timePerSample(metrics, timed),
  total_seconds: ({ metrics }) => metrics.end.total_seconds,
  time_to_quality_seconds: ({ metrics, quality }) => quality && timeToQuality(metrics, quality),
  time_to_each_quality_seconds: ({ metrics, quality }) => quality && timeToEachQuality(metrics, quality),
  peak_memory_reserved_bytes: ({ metrics }) => largest(metrics.end.peak_memory_reserved_bytes),
  peak_memory_allocated_bytes: ({ metrics }) => largest(metrics.end.peak_memory_allocated_bytes),
  allocation_retries: ({ metrics }) => largest(metrics.end.allocation_retries),
  data_wait_share: ({ metrics, timed }) => dataWaitShare(metrics, timed),
  // The GPUs are taken from the launch to its end.
  gpu_hours: ({ metrics, wallSeconds }) => (wallSeconds * (metrics.start.world_size ?? 1)) / 3600,
}

const NAMES = Object.keys(MEASURES) as MetricFrom<'run'>[]

export interface RunMetrics {
  readonly metrics: Metrics
  /** Missing ones of the last evaluation that came out as NaN or infinite. */
  readonly notFinite: readonly string[]
  /** Of each time to quality that the run does not have, though its baseline has finished: why. */
  readonly noTimeToQuality: Readonly<Record<string, NoTimeToQuality>>
}

/** `windowSamples`: over which the fastest steps of all runs are found. */
export function metricsOf(run: MeasuredRun, windowSamples: number): RunMetrics {
  const measured = NAMES.map((name) => [name, MEASURES[name](run)] as const)
  const fast = ofFastestSteps(run, windowSamples)
  const fastest = fast === null ? [] : NAMES.filter(isAtFastestStepsToo)
  return {
    metrics: finite([
      ...measured,
      ...lastEvaluation(run.metrics),
      ...fastest.map((name) => [atFastestSteps(name), fast && MEASURES[name](fast)] as const),
    ]),
    notFinite: (run.metrics.evaluations.at(-1)?.not_finite ?? []).map(evaluationMetric),
    noTimeToQuality: Object.fromEntries(
      measured.flatMap(([name, value]) =>
        typeof value === 'object' && value !== null ? [[name, value] as const] : [],
      ),
    ),
  }
}

function lastEvaluation({ evaluations }: CompleteMetrics): [string, number][] {
  const last = evaluations.at(-1)
  if (last === undefined) return []
  const { val_loss, metrics = {} } = last
  const own = Object.entries(metrics).map(([name, value]): [string, number] => [
    evaluationMetric(name),
    value,
  ])
  return [[HELD_OUT_LOSS, val_loss], ...own]
}

function isAtFastestStepsToo(name: MetricName): boolean {
  const { isAtFastestStepsToo: isToo }: MetricRow = CATALOGUE[name]
  return isToo === true
}

/** As if it had waited for nothing that its fastest steps did not wait for; null where too few steps tell. */
function ofFastestSteps(run: MeasuredRun, windowSamples: number): MeasuredRun | null {
  const { metrics, wallSeconds, timed } = run
  const fast = withoutSlowWindows(metrics, timed, windowSamples)
  if (fast === null) return null
  const waited = sumOf(metrics.steps.seconds) - sumOf(fast.steps.seconds)
  const { total_seconds: total } = metrics.end
  const end = total === undefined ? metrics.end : { ...metrics.end, total_seconds: total - waited }
  return { ...run, metrics: { ...fast, end }, wallSeconds: wallSeconds - waited }
}

function finite(measured: readonly (readonly [string, Measured])[]): Metrics {
  return Object.fromEntries(
    measured.filter(
      (entry): entry is readonly [string, number] =>
        typeof entry[1] === 'number' && Number.isFinite(entry[1]),
    ),
  )
}

/** Math.max(...) would overflow the stack on some hundred thousand numbers. */
function largest(values: readonly number[] = []): number | null {
  return values.reduce<number | null>((most, value) => Math.max(most ?? value, value), null)
}
