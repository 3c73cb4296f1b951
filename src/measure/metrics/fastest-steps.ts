// A run as if it had never been slower than where it was fast: without the waits that come and go.

import type { CompleteMetrics } from '../../read/metrics-record.ts'
import { sumOf } from '../../statistics/averages.ts'

const FASTEST_SHARE = 0.1

/** Of fewer windows the fastest tenth is one, and luck. */
const MIN_WINDOWS = 10

/**
 * The samples of a window: the most that a run has in one period. Steps of different size are held against each other
 * over equal samples only, since a large one has many small waits in it and is never as far below its mean.
 */
export function windowSamplesOf(runs: readonly CompleteMetrics[]): number {
  return runs.reduce((most, { start, steps }) => {
    const largest = steps.samples.reduce((a, b) => Math.max(a, b), 0)
    return Math.max(most, largest * (start.period_steps ?? 1))
  }, 1)
}

/**
 * No window of the timed steps (from `first` up to `end`) takes longer per sample than the slowest of the fastest
 * tenth: the 10th percentile, by nearest rank, over windows of as many steps, since a batch may grow by design. Steps
 * beside the windows stay as they are: those before compile, capture and warm up. Null with fewer than 10 windows alike.
 */
export function withoutSlowWindows(
  run: CompleteMetrics,
  [first, end]: readonly [first: number, end: number],
  windowSamples: number,
): CompleteMetrics | null {
  const seconds = [...run.steps.seconds]
  const windows = windowsOf(run.steps, [first, end], windowSamples)
  if (windows.length === 0) return null
  for (const alike of Map.groupBy(windows, ({ from, to }) => to - from).values()) {
    if (alike.length < MIN_WINDOWS) return null
    const most = fastestOf(alike.map(({ secondsPerSample }) => secondsPerSample))
    for (const { from, to, secondsPerSample } of alike)
      if (secondsPerSample > most)
        for (let step = from; step < to; step += 1)
          seconds[step] = (seconds[step] ?? 0) * (most / secondsPerSample)
  }
  return { ...run, steps: { ...run.steps, seconds } }
}

interface Window {
  readonly from: number
  readonly to: number
  readonly secondsPerSample: number
}

function windowsOf(
  { seconds, samples, held }: CompleteMetrics['steps'],
  [first, end]: readonly [number, number],
  windowSamples: number,
): Window[] {
  const left = new Set(held.map(({ index }) => index))
  const windows: Window[] = []
  let [from, count] = [first, 0]
  for (let step = first; step < end; step += 1) {
    if (left.has(step)) {
      ;[from, count] = [step + 1, 0]
      continue
    }
    count += samples[step] ?? 0
    if (count < windowSamples) continue
    const secondsPerSample = sumOf(seconds.slice(from, step + 1)) / count
    windows.push({ from, to: step + 1, secondsPerSample })
    ;[from, count] = [step + 1, 0]
  }
  return windows
}

function fastestOf(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b)
  return sorted[Math.ceil(FASTEST_SHARE * sorted.length) - 1] ?? 0
}
