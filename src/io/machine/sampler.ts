// Watches the GPUs during a training and writes what it sees to machine.jsonl, twice a second.
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_MACHINE_BYTES, type MachineEvent } from '../../measure/machine-record.ts'
import type { MetricsEvent } from '../../read/events.ts'
import { NEW_FILE } from '../folder/own-file.ts'
import { hasVariable, listProcesses, type Process, withDescendants } from '../process/process-table.ts'
import { MARKER_VARIABLE } from '../process/sweep.ts'
import { fingerprint, queryGpus, queryProcesses } from './gpus.ts'
import type { MachineContext } from './nvidia-smi.ts'
import { processIn, type Streams, type StreamsRequest, sampleIn, startStreams } from './sample-streams.ts'

/** With no GPUs, the file says so and nothing is started. */
export interface SamplerRequest extends StreamsRequest {
  readonly file: string
}

/** A driver takes a moment to forget a process that has ended. */
const FORGETTING_SECONDS = 5
const POLL_MILLISECONDS = 500
/** A cancelled workflow step is killed 10 s after its first signal, and the run has to be ended before us. */
const ANSWER_SECONDS = { patient: 30, cancelled: 2 } as const
const NEVER = new AbortController().signal

export async function startSampler(request: SamplerRequest): Promise<Sampler> {
  const sampler = new Sampler(request)
  await sampler.start()
  return sampler
}

export class Sampler implements AsyncDisposable {
  readonly #request: SamplerRequest
  readonly #output
  readonly #startedAt = performance.now()
  readonly #isOurs = new Map<number, boolean>()
  readonly #missingSince = new Map<number, number>()
  #marker: string | null = null
  #lastStep = 0
  #notedStep = 0
  #writtenBytes = 0
  #isComplete = true
  #streams: Streams | null = null
  #stopped: Promise<void> | null = null

  constructor(request: SamplerRequest) {
    this.#request = request
    this.#output = createWriteStream(request.file, { flags: NEW_FILE })
    // A full disk must not end the training; what is missing reads "not measured".
    this.#output.on('error', () => {
      this.#isComplete = false
    })
  }

  async start(): Promise<void> {
    const { gpus } = this.#request
    this.#write({
      event: 'start',
      gpus: gpus.map(({ uuid }) => uuid),
      fingerprint: fingerprint(gpus),
      started_at: Date.now() / 1000,
    })
    if (gpus.length === 0) return
    this.#streams = await startStreams(
      { ...this.#request, context: this.#asking() },
      {
        onSample: (line) => this.#keep(sampleIn(line, gpus)),
        onProcess: (line) => this.#meet(processIn(line, gpus)),
        onEnergy: (gpu, joules) => this.#keep({ event: 'energy', gpu, joules }),
      },
    )
  }

  /** From here on, what carries the marker, or descends from what does, is ours. */
  follow(marker: string): void {
    this.#marker = marker
  }

  /** Tells the steady part of the run on the sampler's clock. */
  event(event: MetricsEvent): void {
    if (event.event === 'steps') this.#lastStep = event.first_step + event.step_seconds.length - 1
  }

  /** One line for all that was reported since the last look. */
  tick(): void {
    if (this.#lastStep === this.#notedStep) return
    this.#notedStep = this.#lastStep
    this.#keep({ event: 'steps', last_step: this.#lastStep })
  }

  /** Call it when the run's processes are gone. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #stop(): Promise<void> {
    const { gpus } = this.#request
    const seconds = this.#seconds()
    const wasSampling = (await this.#streams?.stop()) ?? true
    const uuids = new Set(gpus.map(({ uuid }) => uuid))
    const now = gpus.length === 0 ? null : await queryGpus(this.#asking())
    const same = now?.status === 'measured' ? now.value.filter(({ uuid }) => uuids.has(uuid)) : []
    const left = gpus.length === 0 ? null : await this.#processesLeft()
    this.#write({
      event: 'end',
      seconds,
      fingerprint: fingerprint(same),
      processes_left: left,
      is_complete: this.#isComplete && wasSampling,
    })
    this.#output.end()
    await finished(this.#output).catch(() => {})
  }

  /** A cancel ends the run, which then still has its end to be noted. */
  #asking(): MachineContext {
    const { context } = this.#request
    const limitSeconds = context.cancelled.aborted ? ANSWER_SECONDS.cancelled : ANSWER_SECONDS.patient
    return { ...context, cancelled: NEVER, limitSeconds }
  }

  /** Null where our own processes were never seen, or cannot be asked for. */
  async #processesLeft(): Promise<number[] | null> {
    const own = new Set([...this.#isOurs].filter(([, isOurs]) => isOurs).map(([pid]) => pid))
    if (own.size === 0) return null
    const isCancelled = this.#request.context.cancelled.aborted
    const deadline = this.#seconds() + (isCancelled ? 0 : FORGETTING_SECONDS)
    while (true) {
      const asked = await queryProcesses(this.#asking())
      if (asked.status === 'not-measured') return null
      const left = [...new Set(asked.value.map(({ pid }) => pid).filter((pid) => own.has(pid)))]
      if (left.length === 0 || this.#seconds() > deadline) return left
      await sleep(POLL_MILLISECONDS)
    }
  }

  /** Each process is noted once. */
  #meet(seen: { gpu: number; pid: number } | null): void {
    if (seen === null || this.#isOurs.has(seen.pid)) return
    const processes = listProcesses()
    if (!processes.some(({ pid }) => pid === seen.pid) && this.#mayHaveJustEnded(seen.pid)) return
    const isOurs = this.#ownPids(processes).has(seen.pid)
    this.#isOurs.set(seen.pid, isOurs)
    this.#keep({ event: 'process', ...seen, is_ours: isOurs })
  }

  #ownPids(processes: readonly Process[]): Set<number> {
    const marker = this.#marker
    if (marker === null) return new Set()
    const marked = processes.filter(({ pid }) => hasVariable(pid, MARKER_VARIABLE, marker))
    return withDescendants(new Set(marked.map(({ pid }) => pid)), processes)
  }

  /** A number that stays listed without a process is one of another container. */
  #mayHaveJustEnded(pid: number): boolean {
    const missingSince = this.#missingSince.get(pid) ?? this.#seconds()
    this.#missingSince.set(pid, missingSince)
    return this.#seconds() - missingSince < FORGETTING_SECONDS
  }

  #keep(event: Unstamped<MachineEvent> | null): void {
    if (event !== null) this.#write({ ...event, seconds: this.#seconds() })
  }

  #write(event: MachineEvent): void {
    const line = `${JSON.stringify(event)}\n`
    // The last line always fits: it says that something is missing.
    if (this.#writtenBytes + line.length > MAX_MACHINE_BYTES && event.event !== 'end') {
      this.#isComplete = false
      return
    }
    this.#writtenBytes += line.length
    this.#output.write(line)
  }

  #seconds(): number {
    return Math.round(performance.now() - this.#startedAt) / 1000
  }
}

type Unstamped<Event> = Event extends { seconds: number } ? Omit<Event, 'seconds'> : never
