// What was seen of the machine: the facts before the first run, and the lines of each run's machine.jsonl.
import { z } from 'zod'
import { parseBounded, RECORD_LIMITS } from '../text/bounded-json.ts'
import { interconnectProbe } from './machine/interconnect.ts'

const count = z.int().nonnegative()
/** Sums of larger ones would be no numbers. */
const amount = z.number().nonnegative().max(1e100)

/** A number is null where the driver does not tell it. */
const gpuFacts = z.object({
  /** As nvidia-smi counts: in the order of the bus. */
  index: count,
  uuid: z.string(),
  name: z.string(),
  driver: z.string(),
  vbios: z.string().nullable(),
  memoryTotalBytes: amount.nullable(),
  memoryUsedBytes: amount.nullable(),
  /** Retired pages or remapped rows that wait for a reset of the GPU. */
  hasPendingEccErrors: z.boolean().nullable(),
  eccMode: z.string().nullable(),
  persistenceMode: z.string().nullable(),
  migMode: z.string().nullable(),
  powerLimitWatts: amount.nullable(),
  maxSmClockMhz: amount.nullable(),
})

export type GpuFacts = z.infer<typeof gpuFacts>

const gpuProcess = z.object({ gpuUuid: z.string(), pid: count })
export type GpuProcess = z.infer<typeof gpuProcess>

export const gpuProbe = z.object({
  uuid: z.string(),
  productTflops: amount,
  copyGigabytesPerSecond: amount,
})
export type GpuProbe = z.infer<typeof gpuProbe>

/** As Slurm allows them. */
const nodeName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, 'the name of a node')

function measured<Value extends z.ZodType>(value: Value) {
  return z.discriminatedUnion('status', [
    z.object({ status: z.literal('measured'), value, warning: z.string().optional() }),
    z.object({ status: z.literal('not-measured'), reason: z.string() }),
  ])
}

export type Measured<Value> =
  /** `warning`: of what told the value, and said that not all was well. */
  | { readonly status: 'measured'; readonly value: Value; readonly warning?: string | undefined }
  | { readonly status: 'not-measured'; readonly reason: string }

const hostFacts = z.object({
  name: z.string(),
  cpu: z.string(),
  cores: count,
  memoryBytes: amount,
  kernel: z.string(),
  /** Through cloud.yml; absent on a machine of one's own. */
  isRented: z.boolean().exactOptional(),
})

/** What was asked of one machine. */
const machineFacts = {
  host: hostFacts,
  /** Those that the runs use, in the order of their local ranks. */
  gpus: measured(z.array(gpuFacts)),
  processes: measured(z.array(gpuProcess)),
  probes: measured(z.array(gpuProbe)),
}

export const nodeFacts = z.discriminatedUnion('status', [
  z.object({
    status: z.literal('answered'),
    node: nodeName,
    ...machineFacts,
    /** Of Python and its packages, by their names. */
    versions: z.record(z.string(), z.string()),
    /** SHA-256 over the files under `data:`; null where there are none. */
    data: z.string().nullable(),
  }),
  z.object({ status: z.literal('unreachable'), node: nodeName, reason: z.string() }),
])

export type NodeFacts = z.infer<typeof nodeFacts>

/** The facts from before the first run; kept in result.json, judged by judge/machine/. */
export const preflightSchema = z.object({
  ...machineFacts,
  lock: z.discriminatedUnion('status', [
    z.object({ status: z.literal('held'), waitedSeconds: amount, waitedFor: z.string().nullable() }),
    z.object({ status: z.literal('timed-out'), waitedSeconds: amount, waitedFor: z.string() }),
    z.object({
      status: z.literal('lost'),
      waitedSeconds: amount,
      waitedFor: z.string().nullable(),
      reason: z.string(),
    }),
  ]),
  /** On each node. */
  processesWanted: count,
  /** The first is the one that the facts above are of. Absent where an experiment has one host, and from older results. */
  nodes: z.array(nodeFacts).min(1).optional(),
  interconnect: measured(interconnectProbe).optional(),
})

export type Preflight = z.infer<typeof preflightSchema>
export type LockFacts = Preflight['lock']

/** Seconds since the sampler was started, about when the run was. */
const seconds = amount

const start = z.object({
  event: z.literal('start'),
  gpus: z.array(z.string()).describe('UUIDs; the gpu of other events is an index into this list.'),
  fingerprint: z.string().nullable(),
  node: nodeName.optional().describe('As the cluster calls it; absent on the one host of an experiment.'),
  host: z.string().optional(),
  started_at: amount.optional().describe('Seconds since the epoch: what compares the clocks of two nodes.'),
  lock: z
    .discriminatedUnion('status', [
      z.object({ status: z.literal('held') }),
      z.object({ status: z.literal('missed'), reason: z.string() }),
    ])
    .optional()
    .describe("Of the node's GPUs, where a watcher takes the locks there."),
})

const gpuSample = z.object({
  event: z.literal('gpu'),
  seconds,
  gpu: count,
  sm_clock_mhz: amount.optional(),
  memory_clock_mhz: amount.optional(),
  power_watts: amount.optional(),
  temperature_celsius: amount.optional(),
  memory_used_bytes: amount.optional(),
  event_reasons: count.optional().describe("NVML's clocksEventReasons bit mask."),
  utilization: z.number().min(0).max(1).optional().describe('Share of time in which any kernel ran.'),
})

const energySample = z.object({
  event: z.literal('energy'),
  seconds,
  gpu: count,
  joules: amount.describe("NVML's counter since the driver was loaded."),
})

const processSeen = z.object({
  event: z.literal('process'),
  seconds,
  gpu: count,
  pid: count,
  is_ours: z.boolean(),
})

const stepsReported = z.object({ event: z.literal('steps'), seconds, last_step: count })

const end = z.object({
  event: z.literal('end'),
  seconds,
  fingerprint: z.string().nullable(),
  processes_left: z.array(count).nullable().describe('Own processes still on a GPU; null: not measured.'),
  is_complete: z.boolean().describe('False when the file reached its limit or a sampler ended early.'),
})

export const machineEvent = z.discriminatedUnion('event', [
  start,
  gpuSample,
  energySample,
  processSeen,
  stepsReported,
  end,
])

export type MachineEvent = z.infer<typeof machineEvent>
export type GpuSample = z.infer<typeof gpuSample>
export type EnergySample = z.infer<typeof energySample>

/** More is a training of many hours; what is beyond is not measured. */
export const MAX_MACHINE_BYTES = 64 * 1024 * 1024
/** As many as so many bytes have where every event says all that it can. */
const MAX_MACHINE_EVENTS = 600_000

/** Of one node in one launch. */
export interface MachineRecord {
  /** As the cluster calls it; null on the one host of an experiment. */
  readonly node: string | null
  /** Seconds since the epoch. */
  readonly startedAt: number | null
  /** Why the node's GPUs were not locked; null where they were, or where Speedproof itself holds the lock. */
  readonly unlocked: string | null
  readonly gpus: readonly string[]
  readonly fingerprint: string | null
  readonly samples: readonly GpuSample[]
  readonly energy: readonly EnergySample[]
  readonly processes: readonly Extract<MachineEvent, { event: 'process' }>[]
  readonly steps: readonly Extract<MachineEvent, { event: 'steps' }>[]
  readonly end: Extract<MachineEvent, { event: 'end' }> | null
}

/** What was seen of the machine in an experiment; `records` by run id, one for each node, the first node first. */
export interface Watched {
  readonly preflight: Preflight | null
  readonly records: ReadonlyMap<string, readonly MachineRecord[]>
}

export const UNWATCHED: Watched = { preflight: null, records: new Map() }

/** Null without a whole `start` line; a line that is no event ends the record, as a kill half-way does. */
export async function readMachine(
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<MachineRecord | null> {
  const events: MachineEvent[] = []
  for await (const line of lines) {
    const event = parseEvent(line)
    if (event === null || events.length === MAX_MACHINE_EVENTS) break
    events.push(event)
  }
  const first = events[0]
  if (first?.event !== 'start') return null
  return {
    node: first.node ?? null,
    startedAt: first.started_at ?? null,
    unlocked: first.lock?.status === 'missed' ? first.lock.reason : null,
    gpus: first.gpus,
    fingerprint: first.fingerprint,
    samples: events.filter((event) => event.event === 'gpu'),
    energy: events.filter((event) => event.event === 'energy'),
    processes: events.filter((event) => event.event === 'process'),
    steps: events.filter((event) => event.event === 'steps'),
    end: events.find((event) => event.event === 'end') ?? null,
  }
}

/**
 * Steps are reported to one clock alone, that of a watcher or that of Speedproof (`told`); each node gets them on its own. The
 * nodes' clocks are taken to agree to a fraction of a second, as NTP keeps them. Without a common clock there are none.
 */
export function withSteps(records: readonly MachineRecord[], told: MachineRecord | null): MachineRecord[] {
  const source = [told, ...records].find((record) => record !== null && record.steps.length > 0)
  return records.map((record) => {
    if (!source || record === source) return record
    if (source.startedAt === null || record.startedAt === null) return { ...record, steps: [] }
    const later = source.startedAt - record.startedAt
    const steps = source.steps.map((one) => ({ ...one, seconds: Math.max(0, one.seconds + later) }))
    return { ...record, steps }
  })
}

function parseEvent(line: string): MachineEvent | null {
  try {
    return machineEvent.safeParse(parseBounded(line, RECORD_LIMITS)).data ?? null
  } catch {
    return null
  }
}
