// A machine record -> the numbers of one run: clocks, power, temperature, throttling, utilisation, energy.
import { meanOf, sumOf } from '../statistics/averages.ts'
import type { GpuSample, MachineRecord, Preflight, Watched } from './machine-record.ts'
import { samplesAfter } from './steady-state.ts'
import { type FinishedRun, summarizeRuns } from './summary.ts'

/** null is "not measured": no GPU, a driver that does not tell, or no sample in the steady part of the run. */
export interface MachineSummary {
  readonly runId: string
  /** The first node first; one where an experiment has one host. */
  readonly nodes: readonly NodeSummary[]
  /** Of all nodes, as all that follows. */
  readonly gpus: number
  /** Those of the GPU with the fewest. */
  readonly steadySamples: number
  /** False where a node, or a GPU that was there before the first run, has left no record: no number is of all GPUs then. */
  readonly isWhole: boolean
  /** False when sampling ended before the run did, or paused, on any node. */
  readonly isComplete: boolean
  readonly meanSmClockMhz: number | null
  readonly minSmClockMhz: number | null
  readonly maxTemperatureCelsius: number | null
  /** All GPUs together, in the steady part; from the energy counters where there are any. */
  readonly powerWatts: number | null
  /** In the steady part, with the evaluations and checkpoints that the power is of too. */
  readonly steadySecondsPerSample: number | null
  /** All GPUs together, from the energy counters, over the whole run. */
  readonly energyJoules: number | null
  /** Of steady samples of the GPU that was slowed down most. */
  readonly slowdownShare: number | null
  readonly powerCapShare: number | null
  /** Mean over steady samples and GPUs of the share of time in which any kernel ran. */
  readonly utilization: number | null
}

export interface NodeSummary {
  /** Null on the one host of an experiment. */
  readonly node: string | null
  readonly isComplete: boolean
  readonly slowdownShare: number | null
  /** Process ids that are not of this run; null where not even our own could be seen. */
  readonly foreignProcesses: readonly number[] | null
  readonly processesLeft: readonly number[] | null
  readonly fingerprintBefore: string | null
  readonly fingerprintAfter: string | null
  /** Why its GPUs were not locked; null where nothing says so. */
  readonly unlocked: string | null
}

/** Bits of NVML's clocksEventReasons: hardware slowdown, software and hardware thermal, hardware power brake. */
export const SLOWDOWN_BITS = 0x8 | 0x20 | 0x40 | 0x80
const POWER_CAP_BIT = 0x4

/** Ten samples: a busy host may hold one back for a moment. */
const MAX_GAP_SECONDS = 5

interface Window {
  readonly from: number
  readonly to: number
}

interface SteadyWindow extends Window {
  readonly secondsPerSample: number | null
}

/** Of the runs that were watched, each in its own steady part, so that a run is judged alike whatever follows it. */
export function summarizeMachines(
  runs: readonly FinishedRun[],
  { preflight, records }: Watched,
): MachineSummary[] {
  return runs.flatMap((run) => {
    const ofNodes = records.get(run.run.id)
    return ofNodes === undefined ? [] : [summarizeMachine(run, ofNodes, expectedOf(preflight))]
  })
}

/** What has to have a record. */
interface Expected {
  readonly nodes: number
  /** On each node: they are alike, or the experiment is invalid. */
  readonly gpus: number
}

const NOTHING_EXPECTED: Expected = { nodes: 0, gpus: 0 }

function expectedOf(preflight: Preflight | null): Expected {
  if (preflight === null) return NOTHING_EXPECTED
  const { nodes, gpus } = preflight
  return { nodes: nodes?.length ?? 1, gpus: gpus.status === 'measured' ? gpus.value.length : 0 }
}

/** A cache: neither a run nor its records change, and each later launch asks about both again. */
const summaries = new WeakMap<FinishedRun, Known>()

interface Known {
  readonly records: readonly MachineRecord[]
  readonly expected: Expected
  readonly summary: MachineSummary
}

export function summarizeMachine(
  run: FinishedRun,
  records: readonly MachineRecord[],
  expected = NOTHING_EXPECTED,
): MachineSummary {
  const known = summaries.get(run)
  if (
    known?.records === records &&
    known.expected.nodes === expected.nodes &&
    known.expected.gpus === expected.gpus
  )
    return known.summary
  const summary = asFarAsWhole(summaryOf(run, records), records, expected)
  summaries.set(run, { records, expected, summary })
  return summary
}

/** The numbers of some GPUs are not those of all: a missing one would seem to save energy. */
function asFarAsWhole(
  summary: MachineSummary,
  records: readonly MachineRecord[],
  expected: Expected,
): MachineSummary {
  const isWhole =
    records.length >= expected.nodes && records.every(({ gpus }) => gpus.length >= expected.gpus)
  return isWhole
    ? summary
    : {
        ...summary,
        ...{ isWhole, isComplete: false, powerWatts: null, energyJoules: null, utilization: null },
        ...{ meanSmClockMhz: null, minSmClockMhz: null },
      }
}

/** One GPU of one node, with its samples in the steady part. */
interface SeenGpu {
  readonly record: MachineRecord
  readonly gpu: number
  readonly window: SteadyWindow | null
  readonly samples: readonly GpuSample[]
}

function summaryOf(run: FinishedRun, records: readonly MachineRecord[]): MachineSummary {
  const warmUpSteps = warmUpStepsOf(run)
  const windows = records.map((record) => steadyWindow(run, record, warmUpSteps))
  const perNode = records.map((record, index) => seenGpus(record, windows[index] ?? null))
  const gpus = perNode.flat()
  const steady = gpus.flatMap(({ samples }) => samples)
  const clocks = valuesOf(steady, 'sm_clock_mhz')
  const nodes = records.map((record, index) => nodeSummary(record, perNode[index] ?? []))
  return {
    runId: run.run.id,
    nodes,
    gpus: gpus.length,
    steadySamples: gpus.reduce((fewest, { samples }) => Math.min(fewest, samples.length), steady.length),
    isWhole: true,
    isComplete: nodes.length > 0 && nodes.every(({ isComplete }) => isComplete),
    meanSmClockMhz: mean(clocks),
    minSmClockMhz: extreme(clocks, Math.min),
    maxTemperatureCelsius: extreme(
      records.flatMap(({ samples }) => valuesOf(samples, 'temperature_celsius')),
      Math.max,
    ),
    powerWatts: total(gpus.map((gpu) => powerOf(gpu) ?? meanPower(gpu.samples))),
    // The samples are those of the whole launch, so that one clock is enough.
    steadySecondsPerSample: windows[0]?.secondsPerSample ?? null,
    energyJoules: total(gpus.map(({ record, gpu }) => counted(record, gpu, EVER)?.joules ?? null)),
    slowdownShare: largestShare(gpus, SLOWDOWN_BITS),
    powerCapShare: largestShare(gpus, POWER_CAP_BIT),
    utilization: mean(valuesOf(steady, 'utilization')),
  }
}

function seenGpus(record: MachineRecord, window: SteadyWindow | null): SeenGpu[] {
  const steady = window === null ? [] : record.samples.filter(({ seconds }) => isWithin(window, seconds))
  return record.gpus.map((_, gpu) => ({
    record,
    gpu,
    window,
    samples: steady.filter((sample) => sample.gpu === gpu),
  }))
}

function nodeSummary(record: MachineRecord, gpus: readonly SeenGpu[]): NodeSummary {
  return {
    node: record.node,
    isComplete: (record.end?.is_complete ?? false) && !hasGap(record),
    slowdownShare: largestShare(gpus, SLOWDOWN_BITS),
    foreignProcesses: foreignProcesses(record),
    processesLeft: record.end?.processes_left ?? null,
    fingerprintBefore: record.fingerprint,
    fingerprintAfter: record.end?.fingerprint ?? null,
    unlocked: record.unlocked,
  }
}

const EVER: Window = { from: 0, to: Number.POSITIVE_INFINITY }

/**
 * The time of the timed steps on the sampler's clock. Steps are reported some time after they are done, all of
 * them at the end by some trainers: the window is never shorter than the timed steps themselves.
 */
function steadyWindow(run: FinishedRun, { steps }: MachineRecord, warmUpSteps: number): SteadyWindow | null {
  const last = steps.at(-1)
  const warm = steps.find(({ last_step }) => last_step >= warmUpSteps)
  if (last === undefined || warm === undefined) return null
  const timedSeconds = sumOf(run.metrics.steps.seconds.slice(warmUpSteps, last.last_step))
  const from = Math.max(0, Math.min(warm.seconds, last.seconds - timedSeconds))
  const samplesAt = (step: number) => samplesAfter(run.metrics, step)
  const samples =
    samplesAt(last.last_step) - (samplesDoneAt(from, steps, samplesAt) ?? samplesAt(warmUpSteps))
  return { from, to: last.seconds, secondsPerSample: samples > 0 ? (last.seconds - from) / samples : null }
}

/** Of the run alone, so that it is judged alike whatever follows it. */
function warmUpStepsOf(run: FinishedRun): number {
  return summarizeRuns([run])[0]?.warmUpSteps ?? 0
}

/** Between two reports as many as the time says; null before the first. */
function samplesDoneAt(
  seconds: number,
  steps: MachineRecord['steps'],
  samplesAt: (step: number) => number,
): number | null {
  const before = steps.findLast((report) => report.seconds <= seconds)
  const after = steps.find((report) => report.seconds > seconds)
  if (before === undefined) return null
  const done = samplesAt(before.last_step)
  if (after === undefined) return done
  const share = (seconds - before.seconds) / (after.seconds - before.seconds)
  return done + share * (samplesAt(after.last_step) - done)
}

function isWithin({ from, to }: Window, seconds: number): boolean {
  return seconds >= from && seconds <= to
}

/** A GPU that was slowed down while nobody looked must not pass for one that was not. */
function hasGap({ gpus, samples, end }: MachineRecord): boolean {
  return gpus.some((_, gpu) => {
    const times = samples.filter((sample) => sample.gpu === gpu).map(({ seconds }) => seconds)
    return [...times, end?.seconds ?? 0].some(
      (time, index) => time - (times[index - 1] ?? 0) > MAX_GAP_SECONDS,
    )
  })
}

/** The counter's difference between its first and last reading in the window. */
function counted({ energy }: MachineRecord, gpu: number, window: Window) {
  const readings = energy.filter((reading) => reading.gpu === gpu && isWithin(window, reading.seconds))
  const [first, last] = [readings[0], readings.at(-1)]
  if (first === undefined || last === undefined || last.seconds <= first.seconds) return null
  const joules = last.joules - first.joules
  // A driver that was loaded again counts from 0.
  return joules < 0 ? null : { joules, seconds: last.seconds - first.seconds }
}

function powerOf({ record, gpu, window }: SeenGpu): number | null {
  const used = window && counted(record, gpu, window)
  return used && used.joules / used.seconds
}

function meanPower(samples: readonly GpuSample[]): number | null {
  return mean(valuesOf(samples, 'power_watts'))
}

/** Null when a GPU has no steady sample, or one that does not tell. */
function largestShare(gpus: readonly SeenGpu[], bits: number): number | null {
  const shares = gpus.map(({ samples }) => {
    const reasons = valuesOf(samples, 'event_reasons')
    if (reasons.length < samples.length || reasons.length === 0) return null
    return reasons.filter((reason) => (reason & bits) !== 0).length / reasons.length
  })
  return shares.some((share) => share === null) ? null : extreme(shares.filter(isNumber), Math.max)
}

/** Where none of our own was seen, the list is empty or counts in another container's numbers. */
export function foreignProcesses({ processes }: MachineRecord): readonly number[] | null {
  if (!processes.some(({ is_ours }) => is_ours)) return null
  return [...new Set(processes.filter(({ is_ours }) => !is_ours).map(({ pid }) => pid))]
}

type Reading = Exclude<keyof GpuSample, 'event' | 'seconds' | 'gpu'>

function valuesOf(samples: readonly GpuSample[], key: Reading): number[] {
  return samples.map((sample) => sample[key]).filter(isNumber)
}

function isNumber(value: number | null | undefined): value is number {
  return typeof value === 'number'
}

/** Null unless every GPU has a value: a part of the power is no power. */
function total(values: readonly (number | null)[]): number | null {
  const known = values.filter(isNumber)
  if (known.length < values.length || known.length === 0) return null
  return sumOf(known)
}

/** Null without any. */
function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : meanOf(values)
}

/** Math.max(...) would overflow the stack on some hundred thousand numbers. */
function extreme(values: readonly number[], choose: (a: number, b: number) => number): number | null {
  return values.reduce<number | null>((found, value) => choose(found ?? value, value), null)
}
