// Passes the events of the runs on to the live view, and their starts and ends to the pull request too.

import type { RunOutcome } from '../../measure/outcome.ts'
import { type PlannedRun, runTitle } from '../../plan/plan.ts'
import type { MetricsEvent } from '../../read/events.ts'
import type { LiveReport } from '../github/report/live-report.ts'
import type { Progress } from './progress.ts'

export class ReportedProgress implements Progress {
  readonly #view: Progress
  readonly #live: Pick<LiveReport, 'tell'>
  readonly #planned: number
  #started = 0
  #title = ''

  constructor(view: Progress, live: Pick<LiveReport, 'tell'>, plan: readonly PlannedRun[]) {
    this.#view = view
    this.#live = live
    this.#planned = plan.length
  }

  runStarted(run: PlannedRun, isKept = false): void {
    if (run.repeats === null) this.#started += 1
    this.#title = runTitle(run)
    this.#view.runStarted(run, isKept)
    this.#tell()
  }

  event(event: MetricsEvent): void {
    this.#view.event(event)
  }

  trainerLine(line: string): void {
    this.#view.trainerLine(line)
  }

  note(text: string): void {
    this.#view.note(text)
  }

  tick(): void {
    this.#view.tick()
    this.#tell()
  }

  runEnded(outcome: RunOutcome): void {
    this.#view.runEnded(outcome)
  }

  #tell(): void {
    this.#live.tell(`launch ${this.#started} of at most ${this.#planned}, ${this.#title}`)
  }
}
