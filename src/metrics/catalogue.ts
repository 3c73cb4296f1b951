// The one catalogue: every metric that a run can have, and the built-in gates of each.
import type { MetricRow } from './row.ts'

/**
 * A metric of the run or of the machine also needs the function that computes it, in `measure/metrics/run-metrics.ts` or
 * `measure/metrics/machine-metrics.ts`; the trainer's own are in `families.ts`.
 */
export const CATALOGUE = {
  seconds_per_sample: {
    meaning: 'seconds per sample in the steady state',
    unit: 's/sample',
    better: 'less',
    kind: 'time',
    from: 'run',
    needs: {},
    gates: {
      speedup: {
        statistic: 'speedup',
        limit: { at_least: 3.0 },
        // Proven to be at most 2% slower.
        regressionLimit: { at_least: 0.98 },
        input: { name: 'min-speedup', gives: 'at_least' },
        output: 'speedup',
      },
    },
    isAtFastestStepsToo: true,
    isOfTimedSteps: true,
  },
  total_seconds: {
    meaning: 'seconds from process start to the end of the training, set-up included',
    unit: 's',
    better: 'less',
    kind: 'time',
    from: 'run',
    needs: {},
    gates: { total_speedup: { statistic: 'speedup' } },
    isAtFastestStepsToo: true,
  },
  time_to_quality_seconds: {
    meaning: 'seconds until the held-out loss that the baseline ends with',
    unit: 's',
    better: 'less',
    kind: 'time',
    from: 'run',
    needs: { report: 'evaluations during the training' },
    gates: { time_to_quality_speedup: { statistic: 'speedup' } },
    isAtFastestStepsToo: true,
  },
  time_to_each_quality_seconds: {
    meaning: 'seconds until the loss of the whole and of every part is as low as the baseline ends with',
    unit: 's',
    better: 'less',
    kind: 'time',
    from: 'run',
    needs: { report: 'evaluations during the training, with metrics val_loss/<part>' },
    gates: { time_to_each_quality_speedup: { statistic: 'speedup' } },
    isAtFastestStepsToo: true,
  },
  val_loss: {
    meaning: 'held-out loss at the end of training',
    unit: 'none',
    better: 'less',
    kind: 'quality',
    from: 'evaluation',
    needs: {},
    gates: {
      loss_delta: {
        statistic: 'difference',
        limit: { below: 0.001 },
        input: { name: 'max-loss-delta', gives: 'below' },
        output: 'loss-delta',
      },
      loss_ratio: { statistic: 'ratio', limit: { at_most: 1.03 } },
    },
  },
  'evaluation.nrmse': {
    meaning: 'held-out NRMSE at the end of training',
    unit: 'none',
    better: 'less',
    kind: 'quality',
    from: 'evaluation',
    needs: { report: 'metrics.nrmse in evaluation' },
    gates: {
      nrmse_ratio: { statistic: 'ratio', limit: { at_most: 1.03 }, isDefaultIfReported: true },
      nrmse_delta: { statistic: 'difference' },
    },
    relativeOf: 'val_loss',
  },
  peak_memory_reserved_bytes: {
    meaning: 'peak GPU memory reserved by the allocator',
    unit: 'bytes',
    better: 'less',
    kind: 'resource',
    from: 'run',
    needs: { gpu: 'any', report: 'peak_memory_reserved_bytes in run_end' },
    gates: { peak_memory_gb: { statistic: 'maximum', limit: { below: 50 }, defaultSeverity: 'warn' } },
  },
  peak_memory_allocated_bytes: {
    meaning: 'peak GPU memory allocated',
    unit: 'bytes',
    better: 'less',
    kind: 'resource',
    from: 'run',
    needs: { gpu: 'any', report: 'peak_memory_allocated_bytes in run_end' },
    gates: { peak_memory_allocated_gb: { statistic: 'maximum' } },
  },
  allocation_retries: {
    meaning: 'times that the allocator had to free its cache and try again',
    unit: 'count',
    better: 'less',
    kind: 'resource',
    from: 'run',
    needs: { gpu: 'any', report: 'allocation_retries in run_end' },
    gates: { allocation_retries: { statistic: 'maximum' } },
  },
  data_wait_share: {
    meaning: 'share of the step seconds that waited for data',
    unit: 'share',
    better: 'less',
    kind: 'resource',
    from: 'run',
    needs: { report: 'data_wait_seconds in steps' },
    gates: { data_wait_share: { statistic: 'maximum' }, data_wait_ratio: { statistic: 'ratio' } },
    isOfTimedSteps: true,
  },
  gpu_utilization: {
    meaning: 'share of time in which any kernel ran (it saturates: one tiny kernel at a time is 100%)',
    unit: 'share',
    better: 'more',
    kind: 'resource',
    from: 'machine',
    needs: { gpu: 'NVIDIA' },
    gates: { gpu_utilization: { statistic: 'minimum' } },
    neverRequired: 'utilisation saturates, so a GPU that runs one tiny kernel at a time reads 100%',
    isOfTimedSteps: true,
  },
  energy_joules_per_sample: {
    meaning: 'joules per sample of all GPUs together in the steady state',
    unit: 'J/sample',
    better: 'less',
    kind: 'resource',
    from: 'machine',
    needs: { gpu: 'NVIDIA' },
    gates: { energy_per_sample: { statistic: 'maximum' }, energy_ratio: { statistic: 'ratio' } },
    isOfTimedSteps: true,
  },
  gpu_hours: {
    meaning: 'GPU hours of a run from launch to end, each process counted as a GPU',
    unit: 'GPU hours',
    better: 'less',
    kind: 'resource',
    from: 'run',
    needs: {},
    gates: { cost_per_run: { statistic: 'maximum', isPriced: true } },
    isAtFastestStepsToo: true,
  },
  sm_cycles_per_sample: {
    meaning: 'SM clock cycles per sample in the steady state: time without the effect of different clocks',
    unit: 'cycles/sample',
    better: 'less',
    kind: 'resource',
    from: 'machine',
    needs: { gpu: 'NVIDIA' },
    gates: {},
    // A variant that draws more power earns its lower clock.
    isShownOnly: true,
    isOfTimedSteps: true,
  },
} as const satisfies Readonly<Record<string, MetricRow>>

export type MetricName = keyof typeof CATALOGUE

/** Those that a source gives: each has one function. */
export type MetricFrom<Source extends MetricRow['from']> = {
  [Name in MetricName]: (typeof CATALOGUE)[Name] extends { readonly from: Source } ? Name : never
}[MetricName]

// What code singles out by name, rather than by what its row says.
export const SECONDS_PER_SAMPLE = 'seconds_per_sample' satisfies MetricName
export const TOTAL_SECONDS = 'total_seconds' satisfies MetricName
export const TIME_TO_QUALITY = 'time_to_quality_seconds' satisfies MetricName
export const TIME_TO_EACH_QUALITY = 'time_to_each_quality_seconds' satisfies MetricName
export const HELD_OUT_LOSS = 'val_loss' satisfies MetricName
export const PEAK_MEMORY_RESERVED = 'peak_memory_reserved_bytes' satisfies MetricName
export const PEAK_MEMORY_ALLOCATED = 'peak_memory_allocated_bytes' satisfies MetricName
export const ALLOCATION_RETRIES = 'allocation_retries' satisfies MetricName
export const DATA_WAIT_SHARE = 'data_wait_share' satisfies MetricName
export const ENERGY_PER_SAMPLE = 'energy_joules_per_sample' satisfies MetricName
export const GPU_HOURS = 'gpu_hours' satisfies MetricName
export const CYCLES_PER_SAMPLE = 'sm_cycles_per_sample' satisfies MetricName
