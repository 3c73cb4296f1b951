// A noise floor: how runs of one training scatter on one machine, and when a stored one still holds.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Experiment, Variant } from '../../config/experiment.ts'
import { isMapping } from '../../config/same-work/differences.ts'
import type { ResolvedConfigs } from '../../config/same-work/same-work.ts'
import type { Preflight } from '../../measure/machine-record.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { ownValue } from '../../text/own-value.ts'

/** What must be equal for a floor to hold. */
const noiseKey = z.strictObject({
  training: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('SHA-256 of config, environment and processes.'),
  machine: z.string().describe('Which machine: its GPUs, or without them its name.'),
  state: z.string().describe('What of it may change: driver, power limits and modes, devices used, kernel.'),
  versions: z.record(z.string(), z.string()).describe('As the trainings report them.'),
})

export type NoiseKey = z.infer<typeof noiseKey>

export const noiseFloorSchema = z.strictObject({
  schema_version: z.literal(1),
  key: noiseKey,
  measured_at: z.string(),
  revision: z.string().nullable(),
  runs: z.int().min(2),
  degrees_of_freedom: z.int().min(1),
  log_standard_deviation: z
    .number()
    .positive()
    .describe('Of ln(seconds per sample) between runs: 0.01 is about 1%.'),
  ratio: z
    .strictObject({ estimate: z.number(), lower: z.number(), upper: z.number(), confidence: z.number() })
    .describe('What the A/A found between its two halves, with its one-sided bounds.'),
})

export type NoiseFloor = z.infer<typeof noiseFloorSchema>

/** Equal exactly for runs of one training; seeds and code are not in it. */
export function trainingHash(
  { launch, variants }: Experiment,
  configs: ResolvedConfigs,
  variant: Variant,
  passedOn: Readonly<Record<string, string>> = {},
): string {
  const training = {
    config: configs[variant],
    environment: { ...passedOn, ...launch.env, ...variants[variant].env },
    processes: [launch.nodes, launch.nproc_per_node],
    ...(launch.command === undefined ? {} : { command: launch.command }),
  }
  return createHash('sha256')
    .update(JSON.stringify(sorted(training)))
    .digest('hex')
}

/** Of runs of one training. Null where the machine was not checked, or nothing was measured. */
export function noiseKeyOf(
  training: string,
  preflight: Preflight | null,
  runs: readonly RunSummary[],
): NoiseKey | null {
  const [run] = runs
  if (preflight === null || !run) return null
  const { host, gpus, nodes = [] } = preflight
  const ofNodes = nodes.flatMap((node) => (node.status === 'answered' ? [node.gpus] : []))
  const seen = (ofNodes.length > 0 ? ofNodes : [gpus]).flatMap((found) =>
    found.status === 'measured' ? found.value : [],
  )
  const hosts = nodes.length > 1 ? nodes.map(({ node }) => node) : [host.name]
  return {
    training,
    machine: seen.length > 0 ? seen.map(({ uuid }) => uuid).join(', ') : `${hosts.join(', ')}, ${host.cpu}`,
    state: [
      `${host.cores} cores`,
      `kernel ${host.kernel}`,
      `devices ${run.deviceNames.join(', ')}`,
      ...seen.map(({ uuid: _, memoryUsedBytes: __, hasPendingEccErrors: ___, ...fixed }) =>
        JSON.stringify(sorted(fixed)),
      ),
    ].join('; '),
    versions: run.versions,
  }
}

export type FloorChoice =
  | { readonly status: 'found'; readonly floor: NoiseFloor }
  | { readonly status: 'none'; readonly reason: string }

/** Ignores floors of other machines; one of another state or other versions is stale, and the reason says so. */
export function chooseFloor(key: NoiseKey | null, floors: readonly NoiseFloor[]): FloorChoice {
  const none = (reason: string): FloorChoice => ({ status: 'none', reason })
  if (key === null && floors.length > 0) return none('the machine was not checked')
  const [newest] = floors
    .filter((floor) => floor.key.training === key?.training && floor.key.machine === key.machine)
    .toSorted((one, other) => (one.measured_at < other.measured_at ? 1 : -1))
  if (key === null || newest === undefined)
    return none('none stored for this machine and training; measure one with --mode aa')
  const changes = changesBetween(newest.key, key)
  return changes.length === 0
    ? { status: 'found', floor: newest }
    : none(
        `the stored one of ${newest.measured_at.slice(0, 10)} is stale: ${changes.join(', ')}. Measure it again with --mode aa`,
      )
}

function changesBetween(then: NoiseKey, now: NoiseKey): string[] {
  const names = [...new Set([...Object.keys(then.versions), ...Object.keys(now.versions)])].sort()
  return [
    ...names
      .filter((name) => ownValue(then.versions, name) !== ownValue(now.versions, name))
      .map(
        (name) =>
          `${name} was ${ownValue(then.versions, name) ?? 'absent'}, is ${ownValue(now.versions, name) ?? 'absent'}`,
      ),
    ...(then.state === now.state
      ? []
      : ['the machine was in another state (driver, modes, kernel or devices)']),
  ]
}

/** Keys in one order at every depth. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isMapping(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  )
}
