// Gates as data: what is measured, how two variants are compared, and the limit that must be proven.
import { z } from 'zod'
import { knownKeys } from '../parse/explain.ts'

/** How a metric of both variants becomes one number; which way is good is in `gate-direction.ts`. */
export type Statistic =
  | 'speedup' // baseline / optimized, of a time or a cost; up is good
  | 'ratio' // optimized / baseline
  | 'difference' // optimized - baseline
  | 'maximum' // the largest of the optimized runs; down is good
  | 'minimum' // the smallest of the optimized runs; up is good

export interface Gate {
  readonly name: string
  readonly metric: string
  readonly statistic: Statistic
  readonly direction: 'at_least' | 'at_most' | 'below'
  /** In the unit of the gate: x for ratios, GB for bytes, the price's currency for a cost, else the metric's own. */
  readonly limit: number
  /** Makes a cost of GPU hours. */
  readonly pricePerGpuHour: number | null
  readonly severity: 'required' | 'warn' | 'info'
  /** `interval`: the confidence bound must clear the limit. `point`: the estimate may do, and is named so. */
  readonly evidence: 'interval' | 'point'
}

/** A run has those that were measured; a trainer's own ones are `evaluation.<name>`. */
export const BUILT_IN_METRICS = [
  'seconds_per_sample',
  'total_seconds',
  'time_to_quality_seconds',
  'time_to_each_quality_seconds',
  'val_loss',
  'peak_memory_allocated_bytes',
  'peak_memory_reserved_bytes',
  'allocation_retries',
  'data_wait_share',
  'gpu_hours',
  'gpu_utilization',
  'energy_joules_per_sample',
] as const

/** Nobody can measure them of a training on the CPU. */
export const GPU_METRICS: readonly string[] = [
  'peak_memory_allocated_bytes',
  'peak_memory_reserved_bytes',
  'allocation_retries',
  'gpu_utilization',
  'energy_joules_per_sample',
]

export const SHARES: readonly string[] = ['data_wait_share', 'gpu_utilization']

export const KNOWN_GATES: Readonly<Record<string, Pick<Gate, 'metric' | 'statistic'>>> = {
  speedup: { metric: 'seconds_per_sample', statistic: 'speedup' },
  total_speedup: { metric: 'total_seconds', statistic: 'speedup' },
  time_to_quality_speedup: { metric: 'time_to_quality_seconds', statistic: 'speedup' },
  time_to_each_quality_speedup: { metric: 'time_to_each_quality_seconds', statistic: 'speedup' },
  loss_delta: { metric: 'val_loss', statistic: 'difference' },
  loss_ratio: { metric: 'val_loss', statistic: 'ratio' },
  nrmse_ratio: { metric: 'evaluation.nrmse', statistic: 'ratio' },
  nrmse_delta: { metric: 'evaluation.nrmse', statistic: 'difference' },
  peak_memory_gb: { metric: 'peak_memory_reserved_bytes', statistic: 'maximum' },
  peak_memory_allocated_gb: { metric: 'peak_memory_allocated_bytes', statistic: 'maximum' },
  allocation_retries: { metric: 'allocation_retries', statistic: 'maximum' },
  data_wait_share: { metric: 'data_wait_share', statistic: 'maximum' },
  gpu_utilization: { metric: 'gpu_utilization', statistic: 'minimum' },
  energy_per_sample: { metric: 'energy_joules_per_sample', statistic: 'maximum' },
  energy_ratio: { metric: 'energy_joules_per_sample', statistic: 'ratio' },
  cost_per_run: { metric: 'gpu_hours', statistic: 'maximum' },
}

/** The mission's gates, for an experiment that names none. */
export const DEFAULT_GATES: GatesFile = {
  speedup: { at_least: 3.0, severity: 'required', evidence: 'interval' },
  loss_delta: { below: 0.001, severity: 'required', evidence: 'interval' },
  nrmse_ratio: { at_most: 1.03, severity: 'required', evidence: 'interval' },
  peak_memory_gb: { below: 50, severity: 'required', evidence: 'interval' },
}

/** At most 2% slower: for a change that is not meant to speed anything up. */
export const REGRESSION_GATES: GatesFile = {
  ...DEFAULT_GATES,
  speedup: { at_least: 0.98, severity: 'required', evidence: 'interval' },
}

const gateKeys = {
  metric: z
    .union([z.enum(BUILT_IN_METRICS), z.templateLiteral(['evaluation.', z.string().min(1)])], {
      error: `one of ${BUILT_IN_METRICS.join(', ')}, or evaluation.<a metric of the trainer's evaluation events>`,
    })
    .optional(),
  statistic: z.enum(['speedup', 'ratio', 'difference', 'maximum', 'minimum']).optional(),
  at_least: z
    .number()
    .optional()
    .describe(
      'Proven by the lower bound: of a speedup or a minimum, and of a ratio or difference where more is better, such as 0.99 or -0.01 of an accuracy.',
    ),
  at_most: z
    .number()
    .optional()
    .describe('Proven by the upper bound: of a maximum, and of a ratio or difference where less is better.'),
  below: z.number().optional().describe('As at_most, without the limit itself.'),
  severity: z.enum(['required', 'warn', 'info']).default('required'),
  evidence: z.enum(['interval', 'point']).default('interval'),
}

export const gatesFile = z.record(
  z.string().regex(/^[a-z][a-z0-9_]{0,40}$/, 'a name of small letters, digits and _, such as my_gate'),
  z.strictObject(gateKeys, knownKeys(Object.keys(gateKeys))),
)

export type GatesFile = z.infer<typeof gatesFile>
