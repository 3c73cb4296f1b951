// Shows a trainer's lines as they come, sanitised, and no more a second than a person or a job log can take.

import { sanitizeLine } from '../../system/sanitize.ts'
import type { RawLine } from './line-splitter.ts'

const LINES_PER_SECOND = 50

export class LiveView {
  #windowStart = Number.NEGATIVE_INFINITY
  #shown = 0
  #hidden = 0
  readonly #show: (line: string) => void
  readonly #now: () => number

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(show: (line: string) => void, now: () => number = () => performance.now()) {
    this.#show = show
    this.#now = now
  }

  offer(line: RawLine): void {
    // Progress bars redraw with \r and leave empty lines.
    if (line.bytes.length === 0) return
    const now = this.#now()
    if (now - this.#windowStart >= 1000) this.#openWindow(now)
    if (this.#shown >= LINES_PER_SECOND) {
      this.#hidden++
      return
    }
    this.#shown++
    this.#show(sanitizeLine(line.bytes.toString('utf8'), line.wasCut))
  }

  /** A line of our own, which no limit hides. */
  announce(text: string): void {
    this.#show(sanitizeLine(text))
  }

  end(): void {
    this.#openWindow(this.#now())
  }

  #openWindow(now: number): void {
    if (this.#hidden > 0) this.announce(`… ${this.#hidden} lines not shown, the log file has them`)
    this.#windowStart = now
    this.#shown = 0
    this.#hidden = 0
  }
}
