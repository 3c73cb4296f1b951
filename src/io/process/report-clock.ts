// Notes when a training reports, to tell one that hangs from one that needs more time.
import type { ReportTimes } from '../../measure/outcome.ts'

export class ReportClock {
  #last: number | null = null
  #longestGap = 0
  readonly #start: number
  readonly #now: () => number

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#start = now()
  }

  event(): void {
    const now = this.#now()
    if (this.#last !== null) this.#longestGap = Math.max(this.#longestGap, now - this.#last)
    this.#last = now
  }

  tick(): void {}

  /** Undefined for a training that has reported nothing. */
  get reports(): ReportTimes | undefined {
    if (this.#last === null) return undefined
    const lastSeconds = (this.#last - this.#start) / 1000
    return { lastSeconds, longestGapSeconds: this.#longestGap / 1000 }
  }
}
