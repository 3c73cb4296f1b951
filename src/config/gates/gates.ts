// Gates as data: what is measured, how two variants are compared, and the limit that must be proven.
import { z } from 'zod'
import { CATALOGUE, type MetricName } from '../../metrics/catalogue.ts'
import { evaluationMetric } from '../../metrics/families.ts'
import type { BuiltInGate, GateLimit, MetricRow, Statistic } from '../../metrics/row.ts'
import { knownKeys } from '../parse/explain.ts'

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
  /** Such a gate counts only once a baseline run reports its metric. */
  readonly ifReported: boolean
}

/** Without a trainer's own ones. */
const NAMED_IN_GATES = (Object.keys(CATALOGUE) as MetricName[]).filter((name) => {
  const { isShownOnly }: MetricRow = CATALOGUE[name]
  return isShownOnly === undefined && !name.startsWith(evaluationMetric(''))
})

export interface KnownGate extends BuiltInGate {
  readonly name: string
  readonly metric: MetricName
}

/** The built-in gates, in the order of the catalogue. */
export const KNOWN_GATES: readonly KnownGate[] = (
  Object.entries(CATALOGUE) as [MetricName, MetricRow][]
).flatMap(([metric, { gates }]) =>
  Object.entries(gates).map(([name, gate]): KnownGate => ({ name, metric, ...gate })),
)

/** For an experiment that names none. */
export const DEFAULT_GATES: GatesFile = defaultGates(({ limit }) => limit)

/** For a change that is not meant to speed anything up. */
export const REGRESSION_GATES: GatesFile = defaultGates(
  ({ limit, regressionLimit }) => regressionLimit ?? limit,
)

function defaultGates(limitOf: (gate: KnownGate) => GateLimit | undefined): GatesFile {
  const entries = KNOWN_GATES.flatMap((gate): [string, GatesFile[string]][] => {
    const limit = limitOf(gate)
    if (limit === undefined) return []
    const { name, defaultSeverity, isDefaultIfReported } = gate
    const severity: Gate['severity'] = defaultSeverity ?? 'required'
    const entry = { ...limit, severity, evidence: 'interval' as const }
    return [[name, isDefaultIfReported ? { ...entry, if_reported: true } : entry]]
  })
  return Object.fromEntries(entries)
}

const gateKeys = {
  metric: z
    .union([z.enum(NAMED_IN_GATES), z.templateLiteral([evaluationMetric(''), z.string().min(1)])], {
      error: `one of ${NAMED_IN_GATES.join(', ')}, or ${evaluationMetric("<a metric of the trainer's evaluation events>")}`,
    })
    .optional(),
  statistic: z.enum(['speedup', 'ratio', 'difference', 'maximum', 'minimum']).optional(),
  at_least: z
    .number()
    .optional()
    .describe(
      'Proven by the lower bound. For a speedup or minimum, and for a ratio or difference where more is better, such as 0.99 or -0.01 of an accuracy.',
    ),
  at_most: z
    .number()
    .optional()
    .describe(
      'Proven by the upper bound. For a maximum, and for a ratio or difference where less is better.',
    ),
  below: z.number().optional().describe('Like at_most, but the limit itself does not pass.'),
  severity: z.enum(['required', 'warn', 'info']).default('required'),
  evidence: z.enum(['interval', 'point']).default('interval'),
  if_reported: z
    .literal(true)
    .optional()
    .describe(
      'The gate applies as soon as a baseline run reports its metric. Then an optimized run that does not leaves it open.',
    ),
}

export const gatesFile = z.record(
  z.string().regex(/^[a-z][a-z0-9_]{0,40}$/, 'a name of lowercase letters, digits and _, such as my_gate'),
  z.strictObject(gateKeys, knownKeys(Object.keys(gateKeys))),
)

export type GatesFile = z.infer<typeof gatesFile>
