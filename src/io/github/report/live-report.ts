// Tells the pull request how far a measurement is, now and then, and never at the cost of the measurement.
import { setTimeout as sleep } from 'node:timers/promises'
import { checkInProgress } from '../../../report/github/check.ts'
import { withNote } from '../../../report/github/progress-note.ts'
import type { Patience } from '../retry.ts'
import { upsertCheck } from './check-run.ts'
import { upsertComment } from './comment.ts'
import type { Place } from './publish.ts'

/** GitHub allows a job's token 1,000 calls an hour; one report takes about six. */
const INTERVAL_MILLISECONDS = 30_000
const PATIENCE: Patience = { attempts: 1, firstDelayMs: 0, totalMs: 10_000 }
/** Of the 7.5 s that a cancelled step has, the result needs most. */
const LAST_WAIT_WHEN_CANCELLED_MILLISECONDS = 1500

export class LiveReport {
  readonly #place: Place
  #writing: Promise<unknown> | null = null
  #lastWritten = Number.NEGATIVE_INFINITY
  #lastText = ''
  #isClosed = false

  constructor(place: Place) {
    this.#place = place
  }

  /** A text that comes too soon after the last one is left out, as a later one says more, and one that says the same. */
  tell(text: string): void {
    const now = performance.now()
    if (this.#isClosed || this.#writing || now - this.#lastWritten < INTERVAL_MILLISECONDS) return
    if (text === this.#lastText) return
    this.#lastWritten = now
    this.#lastText = text
    this.#writing = this.#write(text).finally(() => {
      this.#writing = null
    })
  }

  /**
   * After this nothing more is told, so that the result is not followed by progress. What is being told ends by itself,
   * after PATIENCE at the latest; waited for, it cannot open a concluded check again.
   */
  async close(cancelled: AbortSignal): Promise<void> {
    this.#isClosed = true
    if (!this.#writing) return
    const hurry = cancelled.aborted ? [sleep(LAST_WAIT_WHEN_CANCELLED_MILLISECONDS)] : []
    await Promise.race([this.#writing, ...hurry])
  }

  /** What fails here is tried again, in the end with the result, which says what was wrong. */
  async #write(text: string): Promise<void> {
    const { pull, headSha, runUrl, checkName: name } = this.#place
    const note = `⏳ **${name}**: ${headSha} is being measured in [this run](${runUrl}): ${text}.`
    const target = { ...this.#place, pullNumber: pull?.number ?? null }
    const outcomes = await Promise.all([
      upsertComment(target, (earlier) => withNote(earlier, note), PATIENCE),
      upsertCheck({ ...this.#place, name }, checkInProgress(text, note), PATIENCE),
    ])
    if (outcomes.some(({ status }) => status === 'failed')) this.#lastText = ''
  }
}
