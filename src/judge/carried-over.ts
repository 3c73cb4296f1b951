// Does a run go on from what an earlier launch has left? Then each starts where that one ended.
import { VARIANTS } from '../config/experiment.ts'
import type { RunSummary } from '../measure/summary.ts'

/** Of its first loss: only a run that has learned this much ends clearly below where others start. */
const LEARNED = 0.5

/** `runs` in the order of their launches, with those for warming up, which leave something too. */
export function carriedOverWarnings(runs: readonly RunSummary[]): string[] {
  return VARIANTS.flatMap((variant) => {
    const [first, ...later] = runs.filter((run) => run.variant === variant)
    if (!first || later.length === 0) return []
    const [start = Number.NaN] = first.firstTrainLosses
    const end = first.lastTrainLoss
    const hasLearned = end !== null && end > 0 && end < LEARNED * start
    return hasLearned && later.every(({ firstTrainLosses: [loss = Number.NaN] }) => loss <= end)
      ? [
          `${variant}: every run starts with a training loss that ${first.runId} had at its end only; does each go on from what an earlier launch has left?`,
        ]
      : []
  })
}
