// The live view: which launch of how many, step, loss, seconds left.
import type { Writable } from 'node:stream'
import type { RunOutcome } from '../../measure/outcome.ts'
import { estimateSeconds, meanWallSeconds } from '../../plan/estimate.ts'
import { type PlannedRun, runTitle } from '../../plan/plan.ts'
import type { MetricsEvent } from '../../read/events.ts'
import { duration, number } from '../../text/numbers.ts'
import { plainText } from '../system/sanitize.ts'

export interface Progress {
  /** `isKept`: it ran before `--resume`, and only its end is shown again. */
  runStarted(run: PlannedRun, isKept?: boolean): void
  event(event: MetricsEvent): void
  trainerLine(line: string): void
  /** A line of our own. */
  note(text: string): void
  tick(): void
  runEnded(outcome: RunOutcome): void
}

/** A terminal gets one line that is rewritten; a log gets a line now and then. */
const LOG_INTERVAL_MILLISECONDS = 10_000

export class ProgressView implements Progress {
  readonly #plan: readonly PlannedRun[]
  readonly #output: Writable & { isTTY?: boolean; columns?: number }
  readonly #showTrainerLines: boolean
  readonly #titleOf: (run: PlannedRun) => string
  readonly #finished = new Map<PlannedRun, number>()
  #run: PlannedRun | null = null
  #position = 0
  #startedAt = 0
  #lastShown = 0
  #plannedSteps: number | null = null
  #step = 0
  #trainLoss: number | null = null

  constructor(
    plan: readonly PlannedRun[],
    output: Writable,
    showTrainerLines: boolean,
    titleOf: (run: PlannedRun) => string = runTitle,
  ) {
    this.#titleOf = titleOf
    this.#plan = plan
    this.#output = output
    this.#showTrainerLines = showTrainerLines
  }

  runStarted(run: PlannedRun, isKept = false): void {
    this.#run = run
    if (run.repeats === null) this.#position += 1
    this.#startedAt = performance.now()
    this.#lastShown = this.#startedAt
    this.#plannedSteps = null
    this.#step = 0
    this.#trainLoss = null
    if (!this.#output.isTTY)
      this.#write(`${this.#place()}: ${isKept ? 'kept from before --resume' : 'starting'}`)
  }

  event(event: MetricsEvent): void {
    if (event.event === 'run_start') this.#plannedSteps = event.planned_steps ?? null
    if (event.event === 'steps') {
      this.#step = event.first_step + event.step_seconds.length - 1
      this.#trainLoss = event.train_loss?.at(-1) ?? this.#trainLoss
    }
  }

  trainerLine(line: string): void {
    if (this.#showTrainerLines) this.#write(line)
  }

  note(text: string): void {
    this.#write(plainText(text))
  }

  tick(): void {
    const now = performance.now()
    if (!this.#output.isTTY && now - this.#lastShown < LOG_INTERVAL_MILLISECONDS) return
    this.#lastShown = now
    if (this.#output.isTTY) this.#rewrite(this.#liveText())
    else this.#write(this.#liveText())
  }

  runEnded(outcome: RunOutcome): void {
    const { run } = outcome
    if (outcome.status === 'finished') this.#finished.set(run, outcome.wallSeconds)
    this.#write(`${this.#place()}: ${endText(outcome)}`)
    this.#run = null
  }

  #place(): string {
    return `[${this.#position}/${this.#plan.length}] ${this.#run === null ? '' : this.#titleOf(this.#run)}`
  }

  #liveText(): string {
    const steps =
      this.#plannedSteps === null ? `step ${this.#step}` : `step ${this.#step}/${this.#plannedSteps}`
    const loss = this.#trainLoss === null ? '' : `, loss ${number(this.#trainLoss)}`
    return `${this.#place()}: ${this.#step === 0 ? 'setting up' : `${steps}${loss}`}, ${this.#timeText()}`
  }

  #timeText(): string {
    const inAll = this.#secondsLeft()
    if (inAll !== null) return `about ${duration(inAll)} left of all launches`
    if (this.#step === 0 || this.#plannedSteps === null) return `${duration(this.#elapsed())} so far`
    const inThisRun = (this.#elapsed() * Math.max(0, this.#plannedSteps - this.#step)) / this.#step
    return `about ${duration(inThisRun)} left in this launch`
  }

  #elapsed(): number {
    return (performance.now() - this.#startedAt) / 1000
  }

  #secondsLeft(): number | null {
    const means = meanWallSeconds(this.#finished)
    const current = this.#run && means[this.#run.variant]
    const rest = estimateSeconds(this.#plan.slice(this.#position), means)
    return typeof current === 'number' && rest !== null ? Math.max(0, current - this.#elapsed()) + rest : null
  }

  #rewrite(text: string): void {
    this.#output.write(`\r\u001b[2K${text.slice(0, (this.#output.columns ?? 100) - 1)}`)
  }

  #write(text: string): void {
    this.#output.write(this.#output.isTTY ? `\r\u001b[2K${text}\n` : `${text}\n`)
  }
}

function endText(outcome: RunOutcome): string {
  switch (outcome.status) {
    case 'finished': {
      const loss = outcome.metrics.evaluations.at(-1)?.val_loss
      return `finished in ${duration(outcome.wallSeconds)}${loss === undefined ? '' : `, held-out loss ${number(loss)}`}`
    }
    case 'failed':
      return `failed, ${outcome.reason}: ${plainText(outcome.message)}`
    case 'cancelled':
      return outcome.because === undefined ? 'cancelled' : `cut: ${plainText(outcome.because)}`
    case 'not-run':
      return 'not run'
  }
}
