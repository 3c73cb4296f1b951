// The launches in their order, with what was seen of the GPUs while they ran, in a bounded number of points.

import { SLOWDOWN_BITS } from '../machine.ts'
import type { GpuSample, MachineRecord, Watched } from '../machine-record.ts'
import type { Launched } from '../outcome.ts'
import type { Line, Spread } from './spread.ts'

export interface Timeline {
  /** In the order in which they were started. */
  readonly launches: readonly TimelineLaunch[]
  /** Of the launches and the gaps between them, as shown. */
  readonly seconds: number
  /** A gap was longer than it is shown. */
  readonly hasShortGaps: boolean
  /** GPUs of the launch that has most. */
  readonly gpus: number
  /** Seconds at the middle of each part; empty where no GPU was watched. */
  readonly times: readonly number[]
  readonly readings: readonly Reading[]
  /** Parts in which a GPU was slowed down by heat or hardware. */
  readonly slowed: readonly number[]
  /** Parts in which somebody else's process was seen on a GPU. */
  readonly foreign: readonly number[]
}

export interface TimelineLaunch {
  readonly runId: string
  readonly from: number
  readonly to: number
}

/** Over all GPUs and all samples of a part of the time. */
export interface Reading extends Spread {
  readonly name: ReadingName
}

export const READINGS = ['sm_clock_mhz', 'power_watts', 'temperature_celsius', 'memory_used_bytes'] as const
export type ReadingName = (typeof READINGS)[number]

/** A break of a night would leave the launches themselves no width. */
const LONGEST_GAP_SHARE = 0.02

/** Null without a launch. */
export function timelineOf(
  launched: readonly Launched[],
  { records }: Watched,
  points: number,
): Timeline | null {
  const placed = placeLaunches(launched)
  const seconds = placed.launches.at(-1)?.to ?? 0
  if (!(seconds > 0)) return null
  const nodesOf = ({ runId }: TimelineLaunch) => records.get(runId) ?? []
  const watched = placed.launches.flatMap((launch) => nodesOf(launch).map((record) => ({ launch, record })))
  const gpus = placed.launches.reduce(
    (most, launch) =>
      Math.max(
        most,
        nodesOf(launch).reduce((total, { gpus }) => total + gpus.length, 0),
      ),
    0,
  )
  const hasSamples = watched.some(({ record }) => record.samples.length > 0)
  const grid = { seconds, points }
  return {
    ...placed,
    seconds,
    gpus,
    times: hasSamples ? Array.from({ length: points }, (_, part) => ((part + 0.5) / points) * seconds) : [],
    readings: hasSamples ? READINGS.flatMap((name) => readingOf(name, watched, grid) ?? []) : [],
    slowed: partsWith(watched, grid, ({ samples }) => samples.filter(isSlowed)),
    foreign: partsWith(watched, grid, ({ processes }) => processes.filter(({ is_ours }) => !is_ours)),
  }
}

function isSlowed({ event_reasons: reasons = 0 }: GpuSample): boolean {
  return (reasons & SLOWDOWN_BITS) !== 0
}

function placeLaunches(launched: readonly Launched[]): Pick<Timeline, 'launches' | 'hasShortGaps'> {
  const ran = launched
    .flatMap(({ launch }) => {
      const wall = launch?.result.status === 'not-started' ? 0 : (launch?.result.wallSeconds ?? 0)
      return launch === null
        ? []
        : [{ runId: launch.runId, start: Date.parse(launch.startedAt) / 1000, wall }]
    })
    .toSorted((one, other) => one.start - other.start || 0)
  const longestGap = ran.reduce((total, { wall }) => total + wall, 0) * LONGEST_GAP_SHARE
  let [end, hasShortGaps] = [0, false]
  const launches = ran.map(({ runId, start, wall }, index) => {
    const before = ran[index - 1]
    const gap = before === undefined ? 0 : start - (before.start + before.wall)
    // A time that cannot be read leaves no gap.
    const shown = gap > 0 ? Math.min(gap, longestGap) : 0
    hasShortGaps ||= gap > shown
    const from = end + shown
    end = from + wall
    return { runId, from, to: end }
  })
  return { launches, hasShortGaps }
}

interface Seen {
  readonly launch: TimelineLaunch
  readonly record: MachineRecord
}

interface Grid {
  readonly seconds: number
  readonly points: number
}

/** Null for a moment before or after its launch, where another one may lie. */
function partAt({ from, to }: TimelineLaunch, seconds: number, grid: Grid): number | null {
  const time = from + seconds
  if (!(time >= from && time <= to)) return null
  return Math.min(grid.points - 1, Math.floor((time / grid.seconds) * grid.points))
}

/** Null where no GPU tells it. */
function readingOf(name: ReadingName, watched: readonly Seen[], grid: Grid): Reading | null {
  const parts = Array.from({ length: grid.points }, () => ({
    low: Infinity,
    high: -Infinity,
    sum: 0,
    count: 0,
  }))
  for (const { launch, record } of watched)
    for (const sample of record.samples) {
      const [value, part] = [sample[name], partAt(launch, sample.seconds, grid)]
      const into = part === null ? undefined : parts[part]
      if (value === undefined || into === undefined) continue
      into.low = Math.min(into.low, value)
      into.high = Math.max(into.high, value)
      into.sum += value
      into.count += 1
    }
  if (parts.every(({ count }) => count === 0)) return null
  const line = (of: (part: (typeof parts)[number]) => number): Line =>
    parts.map((part) => (part.count === 0 ? null : of(part)))
  return {
    name,
    middle: line(({ sum, count }) => sum / count),
    low: line(({ low }) => low),
    high: line(({ high }) => high),
  }
}

function partsWith(
  watched: readonly Seen[],
  grid: Grid,
  momentsOf: (record: MachineRecord) => readonly { readonly seconds: number }[],
): number[] {
  const parts = new Set<number>()
  for (const { launch, record } of watched)
    for (const { seconds } of momentsOf(record)) {
      const part = partAt(launch, seconds, grid)
      if (part !== null) parts.add(part)
    }
  return [...parts].sort((one, other) => one - other)
}
