// Why an experiment has fewer blocks than it planned; planning more of them would not help.
import type { Experiment } from '../config/experiment.ts'
import type { NotRunReason, RunOutcome } from '../measure/outcome.ts'
import { looksOf } from '../plan/looks.ts'

export interface WhyStopped {
  /** The most that the design asks for. */
  readonly planned: number
  readonly cause: NotRunReason
}

/** Null where every planned launch has finished. */
export function whyStopped(experiment: Experiment, outcomes: readonly RunOutcome[]): WhyStopped | null {
  const planned = looksOf(experiment).at(-1) ?? 0
  if (outcomes.some(({ status }) => status === 'failed')) return { planned, cause: 'failed' }
  if (outcomes.some(({ status }) => status === 'cancelled')) return { planned, cause: 'stopped' }
  const notRun = outcomes.find((outcome) => outcome.status === 'not-run')
  return notRun === undefined ? null : { planned, cause: notRun.reason }
}

/** No number of blocks decides anything where runs failed, cannot be compared or lack a number. */
export function canMoreBlocksHelp(stopped: WhyStopped | null): boolean {
  return stopped === null || !['failed', 'incomparable', 'unmeasured'].includes(stopped.cause)
}

export function whyStoppedText({ cause }: WhyStopped): string {
  return TEXT[cause]
}

const TEXT: Readonly<Record<NotRunReason, string>> = {
  decided: 'the experiment stopped once its own gates were decided, so other gates need a new run',
  futile: 'the blocks left had less than a 10% chance to decide',
  budget: 'the budget was spent before more blocks; raise design.gpu_minutes',
  unfit: 'the machine was not fit to measure on',
  failed: 'a launch failed; more blocks would not help',
  incomparable: 'the runs cannot be compared; more blocks would not help',
  unmeasured: 'a required gate had no number; more blocks would not help',
  stopped: 'the experiment was stopped before it finished',
}
