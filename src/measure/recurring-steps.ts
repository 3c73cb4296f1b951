// Long steps that come back after as many steps each time, as the first ones of an epoch do.
import { medianOf } from '../statistics/averages.ts'

/** Times the median step. */
const LONG = 1.5

/** Fewer may lie so by chance. */
const MIN_TIMES = 3

/** From one to the next, the same in nearly all cases: one long step of another cause may come between. */
const REGULAR = 0.8

/** Null where no step is long, or where long steps have no fixed distance. */
export function recurringEvery(seconds: readonly number[]): number | null {
  const limit = LONG * medianOf(seconds)
  const isLong = (step: number) => (seconds[step] ?? 0) > limit
  const starts = seconds.flatMap((_, step) => (isLong(step) && !isLong(step - 1) ? [step] : []))
  if (starts.length < MIN_TIMES) return null
  const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0))
  const usual = medianOf(gaps)
  const regular = gaps.filter((gap) => gap === usual).length
  return usual > 1 && regular >= REGULAR * gaps.length ? usual : null
}
