// A run as if no step had been slower than its fast ones: without the waits that come and go.
import type { WholeMetrics } from './outcome.ts'

/** Enough steps that none is luck, and few enough that most waits are in the others. */
const FASTEST_SHARE = 0.1

/**
 * No timed step (from `first` up to `end`) takes longer than the slowest of the fastest tenth: their 10th percentile,
 * by nearest rank, over steps that do the same work, which have one place in the period and as many samples. The other
 * steps stay as they are: those before compile, capture and warm up.
 */
export function withoutSlowSteps(
  run: WholeMetrics,
  [first, end]: readonly [first: number, end: number],
): WholeMetrics {
  const period = run.start.period_steps ?? 1
  const { seconds, samples } = run.steps
  const timed = Array.from({ length: end - first }, (_, index) => first + index)
  const shortened = [...seconds]
  for (const alike of Map.groupBy(timed, (step) => `${step % period} ${samples[step]}`).values()) {
    const most = fastestOf(alike.map((step) => seconds[step] ?? 0))
    for (const step of alike) shortened[step] = Math.min(seconds[step] ?? 0, most)
  }
  return { ...run, steps: { ...run.steps, seconds: shortened } }
}

function fastestOf(seconds: readonly number[]): number {
  const sorted = [...seconds].sort((a, b) => a - b)
  return sorted[Math.ceil(FASTEST_SHARE * sorted.length) - 1] ?? 0
}
