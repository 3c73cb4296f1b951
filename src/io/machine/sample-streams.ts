// The programs that report what the GPUs do during a training, each printing a line now and then until it is ended.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GpuFacts, MachineEvent } from '../../measure/machine-record.ts'
import { type Reaper, startReaper } from '../process/launch-reaper.ts'
import { LineSplitter } from '../process/log/line-splitter.ts'
import { newMarker } from '../process/sweep.ts'
import { packageRoot } from '../system/package-root.ts'
import { bytesOf } from './gpus.ts'
import {
  type MachineContext,
  numberOf,
  parseRow,
  querySmi,
  type SmiRow,
  smiCommand,
  textOf,
} from './nvidia-smi.ts'

// One nvidia-smi that loops instead of one for each sample: loading the driver's library each time would
// disturb the training that it is to watch.
const SAMPLE_PERIOD_MILLISECONDS = 500
const PROCESS_PERIOD_MILLISECONDS = 1000
/** The reaper needs 3 s for what ignores SIGTERM; what hangs in the driver does not end at all. */
const PATIENCE_MILLISECONDS = 4000

const SAMPLE_FIELDS = [
  'uuid',
  'clocks.sm',
  'clocks.mem',
  'power.draw',
  'temperature.gpu',
  'memory.used',
  'clocks_event_reasons.active',
  'utilization.gpu',
]
const PROCESS_FIELDS = ['gpu_uuid', 'pid']

export interface StreamsRequest {
  /** Those that the run uses. */
  readonly gpus: readonly GpuFacts[]
  /** Interpreter for our own small programs, Python 3.10 or newer. */
  readonly python: string
  readonly context: MachineContext
}

export interface StreamHooks {
  readonly onSample: (row: SmiRow) => void
  readonly onProcess: (row: SmiRow) => void
  readonly onEnergy: (gpu: number, joules: number) => void
}

export interface Streams {
  /** Answers whether samples were taken until now; a sampler may have ended early. */
  stop(): Promise<boolean>
}

export async function startStreams(request: StreamsRequest, hooks: StreamHooks): Promise<Streams> {
  const uuids = request.gpus.map(({ uuid }) => uuid)
  // Asked once, to learn which of the fields this driver knows.
  const known = await querySmi('gpu', SAMPLE_FIELDS, request.context)
  const fields = known.status === 'answered' ? known.fields : SAMPLE_FIELDS
  const looping = (command: readonly string[], milliseconds: number) => [
    ...command,
    `--id=${uuids.join(',')}`,
    `--loop-ms=${milliseconds}`,
  ]
  const energy = join(packageRoot(), 'src', 'io', 'machine', 'energy.py')
  const streams = await Promise.all([
    stream(request, looping(smiCommand('gpu', fields), SAMPLE_PERIOD_MILLISECONDS), (line) =>
      withRow(line, fields, hooks.onSample),
    ),
    stream(
      request,
      looping(smiCommand('compute-apps', PROCESS_FIELDS), PROCESS_PERIOD_MILLISECONDS),
      (line) => withRow(line, PROCESS_FIELDS, hooks.onProcess),
    ),
    stream(request, [request.python, '-I', '-S', energy, ...uuids], (line) => {
      const [, gpu, joules] = /^(\d+) (\d+(?:\.\d+)?)$/.exec(line) ?? []
      if (gpu !== undefined && joules !== undefined) hooks.onEnergy(Number(gpu), Number(joules))
    }),
  ])
  return {
    async stop() {
      for (const { terminate } of streams) terminate()
      const ended = Promise.all(streams.map((one) => one.ended))
      const patience = sleep(PATIENCE_MILLISECONDS, null, { ref: false })
      const [samples] = (await Promise.race([ended, patience])) ?? []
      return samples === 'ended-by-us'
    },
  }
}

/** Null for a GPU that is not among those that are watched. */
export function sampleIn(
  row: SmiRow,
  gpus: readonly GpuFacts[],
): Omit<Extract<MachineEvent, { event: 'gpu' }>, 'seconds'> | null {
  const gpu = gpus.findIndex(({ uuid }) => uuid === textOf(row, 'uuid'))
  if (gpu === -1) return null
  const percent = numberOf(row, 'utilization.gpu')
  return {
    event: 'gpu',
    gpu,
    ...present('sm_clock_mhz', numberOf(row, 'clocks.sm')),
    ...present('memory_clock_mhz', numberOf(row, 'clocks.mem')),
    ...present('power_watts', numberOf(row, 'power.draw')),
    ...present('temperature_celsius', numberOf(row, 'temperature.gpu')),
    ...present('memory_used_bytes', bytesOf(row, 'memory.used')),
    ...present('event_reasons', numberOf(row, 'clocks_event_reasons.active')),
    ...present('utilization', percent === null ? null : percent / 100),
  }
}

export function processIn(row: SmiRow, gpus: readonly GpuFacts[]): { gpu: number; pid: number } | null {
  const gpu = gpus.findIndex(({ uuid }) => uuid === textOf(row, 'gpu_uuid'))
  const pid = numberOf(row, 'pid')
  return gpu === -1 || pid === null ? null : { gpu, pid }
}

function present<Key extends string>(key: Key, value: number | null): { [K in Key]?: number } {
  const entry: { [K in Key]?: number } = {}
  if (value !== null) entry[key] = value
  return entry
}

function withRow(line: string, fields: readonly string[], use: (row: SmiRow) => void): void {
  const row = parseRow(line, fields)
  if (row !== null) use(row)
}

type StreamEnd = 'ended-by-us' | 'ended-by-itself'

interface Stream {
  readonly ended: Promise<StreamEnd>
  readonly terminate: () => void
}

/** Under the reaper, as a training is: it ends with us, even if we are killed. */
async function stream(
  { context, python }: StreamsRequest,
  command: readonly string[],
  onLine: (line: string) => void,
): Promise<Stream> {
  const { environment, workingDirectory } = context
  const reaper = await startReaper({ command, workingDirectory, environment, python }, newMarker())
  if (reaper.status === 'not-started') {
    return { ended: Promise.resolve('ended-by-itself'), terminate: () => {} }
  }
  return { ended: drained(reaper, onLine), terminate: () => reaper.terminate() }
}

async function drained({ output, end }: Reaper, onLine: (line: string) => void): Promise<StreamEnd> {
  const read = output.map(async (one) => {
    const splitter = new LineSplitter(({ bytes }) => onLine(bytes.toString('utf8')))
    for await (const chunk of one) splitter.push(chunk)
  })
  await Promise.all(read)
  // Told to stop, the reaper dies by that signal; otherwise it ends as its command did.
  const ended = await end
  return ended.status === 'signalled' && ended.signal === 'SIGTERM' ? 'ended-by-us' : 'ended-by-itself'
}
