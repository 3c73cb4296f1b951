// A waiting time as a timer takes it.

/** setTimeout takes anything above as 1 ms. */
const LONGEST_MILLISECONDS = 2 ** 31 - 1

/** The longest there is, some 25 days, for a longer one. */
export function timerMilliseconds(milliseconds: number): number {
  return Math.min(milliseconds, LONGEST_MILLISECONDS)
}
