// Gates as data: what is measured, how two variants are compared, and the limit that must be proven.
import { z } from 'zod'
import { ConfigError } from '../errors.ts'
import { knownKeys } from './explain.ts'
import { checkDirection } from './gate-direction.ts'

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
type GateEntry = GatesFile[string]

/** Throws a ConfigError for a gate that is unknown, has no or several limits, or could never be decided. */
export function readGates(file: GatesFile, pricePerGpuHour: number | null, source: string): Gate[] {
  if (Object.keys(file).length === 0) {
    throw new ConfigError(
      `${source}: gates: got {}, expected at least one gate; leave the key out for the default ones, or give them severity: info`,
    )
  }
  return Object.entries(file).map(([name, entry]) => ({
    ...readGate(name, entry, `${source}: gates.${name}`),
    pricePerGpuHour: name === 'cost_per_run' ? priceOf(pricePerGpuHour, `${source}: gates.${name}`) : null,
  }))
}

function readGate(name: string, entry: GateEntry, where: string): Omit<Gate, 'pricePerGpuHour'> {
  const { metric, statistic } = comparisonOf(name, entry, where)
  const { direction, limit } = limitOf(entry, where)
  checkDirection({ metric, statistic, direction }, where)
  checkLimit(statistic, direction, limit, where)
  checkGigabytes(metric, direction, limit, where)
  checkShare(metric, statistic, direction, limit, where)
  checkSeverity(metric, entry, where)
  const { severity, evidence } = entry
  return { name, metric, statistic, direction, limit, severity, evidence }
}

function checkLimit(statistic: Statistic, direction: Gate['direction'], limit: number, where: string): void {
  // Nothing of something is a fair limit of a level: no retry at all.
  if (limit === 0 && statistic === 'maximum' && direction === 'at_most') return
  const isMargin = statistic === 'difference'
  const isNegative = isMargin && direction === 'at_least'
  if (isNegative ? limit < 0 : limit > 0) return
  const expected = `a number ${isNegative ? 'below 0, such as -0.01' : 'above 0'}`
  const reason = isMargin ? ': with no margin, equal models fail half of the time' : ''
  throw new ConfigError(`${where}.${direction}: got ${limit}, expected ${expected}${reason}`)
}

/** What no GPU has is no limit: it would pass whatever is measured. */
function checkGigabytes(metric: string, direction: Gate['direction'], limit: number, where: string): void {
  if (metric.endsWith('_bytes') && limit >= MOST_GB)
    throw new ConfigError(`${where}.${direction}: got ${limit}, expected GB, such as 50, not bytes`)
}

const MOST_GB = 10_000

/** Nor is more than all of it. */
function checkShare(
  metric: string,
  statistic: Statistic,
  direction: Gate['direction'],
  limit: number,
  where: string,
): void {
  const isQuotient = statistic === 'speedup' || statistic === 'ratio'
  if (!isQuotient && SHARES.includes(metric) && Math.abs(limit) > 1)
    throw new ConfigError(`${where}.${direction}: got ${limit}, expected a share, such as 0.05 for 5%`)
}

export const SHARES: readonly string[] = ['data_wait_share', 'gpu_utilization']

/** The driver's number says that any kernel ran, so tiny kernels one after the other read 100%. */
function checkSeverity(metric: string, { severity }: GateEntry, where: string): void {
  if (metric !== 'gpu_utilization' || severity !== 'required') return
  throw new ConfigError(
    `${where}.severity: got required, expected warn or info: utilisation saturates, a GPU with one tiny kernel at a time reads 100% busy`,
  )
}

function priceOf(pricePerGpuHour: number | null, where: string): number {
  if (pricePerGpuHour !== null) return pricePerGpuHour
  throw new ConfigError(
    `${where}: needs the price of one GPU for an hour; set launch.price_per_gpu_hour, or the input price-per-gpu-hour`,
  )
}

function comparisonOf(name: string, entry: GateEntry, where: string): Pick<Gate, 'metric' | 'statistic'> {
  // Not by index alone: every object has a 'constructor'.
  const known = Object.hasOwn(KNOWN_GATES, name) ? KNOWN_GATES[name] : undefined
  if (known && (entry.metric !== undefined || entry.statistic !== undefined)) {
    throw new ConfigError(
      `${where}: ${name} has its own metric and statistic; leave both out, or choose another name`,
    )
  }
  if (known) return known
  if (entry.metric === undefined || entry.statistic === undefined) {
    throw new ConfigError(
      `${where}: unknown gate; use one of ${Object.keys(KNOWN_GATES).join(', ')}, or give it a metric and a statistic`,
    )
  }
  return { metric: entry.metric, statistic: entry.statistic }
}

function limitOf(entry: GateEntry, where: string): Pick<Gate, 'direction' | 'limit'> {
  const limits = (['at_least', 'at_most', 'below'] as const).flatMap((direction) => {
    const limit = entry[direction]
    return limit === undefined ? [] : [{ direction, limit }]
  })
  const [only] = limits
  if (only === undefined || limits.length > 1) {
    throw new ConfigError(`${where}: got ${limits.length} limits, expected one of at_least, at_most, below`)
  }
  return only
}
