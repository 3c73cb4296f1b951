// Does a run go on from what an earlier launch has left? Then none that follows starts as high as that one did.
import { VARIANTS, type Variant } from '../../config/experiment.ts'
import type { RunSummary } from '../../measure/summary.ts'
import type { Warning } from './warning.ts'

/** Of its first loss: far below what other seeds start with, so that luck does not look like learning. */
const LEARNED = 0.5

/** Fewer may be luck. */
const MIN_LATER = 2

/** `runs` in the order of their launches, with those for warming up, which leave something too. */
export const stateBetweenRunsWarnings: Warning<'runs'> = ({ runs }) => {
  return VARIANTS.flatMap((variant) => warningOf(variant, runs) ?? [])
}

/** A warm-up launch may be too short to have learned; then the first measured run shows it. */
function warningOf(variant: Variant, runs: readonly RunSummary[]): string | null {
  const own = runs.filter((run) => run.variant === variant)
  const left = own.find((run, index) => hasLearned(run) && allStartBelow(run, own.slice(index + 1)))
  return left
    ? `${variant}: every run after ${left.runId} starts with less than half of its first training loss, so runs may continue an earlier launch. Check that each run starts from scratch`
    : null
}

function hasLearned({ firstTrainLosses: [start = Number.NaN], lastTrainLoss: end }: RunSummary): boolean {
  return start > 0 && end !== null && end < LEARNED * start
}

function allStartBelow(
  { firstTrainLosses: [start = Number.NaN] }: RunSummary,
  later: readonly RunSummary[],
): boolean {
  return (
    later.length >= MIN_LATER &&
    later.every(({ firstTrainLosses: [loss = Number.NaN] }) => loss < LEARNED * start)
  )
}
