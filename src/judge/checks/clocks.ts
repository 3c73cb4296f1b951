// Do a trainer's clock and that of its process agree?
import type { RunSummary } from '../../measure/summary.ts'
import { TOTAL_SECONDS } from '../../metrics/catalogue.ts'
import { seconds } from '../../text/numbers.ts'
import type { VerdictInput } from '../verdict-input.ts'
import { type Check, checkOf, withoutStepSeconds } from './check.ts'

/** Imports, process groups and torchrun itself take this long on a slow machine, and no trainer reports them. */
const UNREPORTED_SECONDS = 60

/** Steps are timed on the device, all else on the host. */
const SAME_CLOCK = 1.01

export function checkClocks({ measured }: Pick<VerdictInput, 'measured'>): Check {
  const detail = 'the times that the runs report fit into the time that their processes took'
  return withoutStepSeconds('clocks', measured) ?? checkOf('clocks', clockProblems(measured), detail)
}

/**
 * The supervisor's clock against the trainer's: all that comes one after the other within the total, the total and
 * each phase within the process, little left over.
 */
function clockProblems(runs: readonly RunSummary[]): string[] {
  return runs.flatMap((run) => {
    const { runId, trainingSeconds, accountedSeconds, successiveSeconds, wallSeconds } = run
    const totalSeconds = run.metrics[TOTAL_SECONDS] ?? wallSeconds
    const ofProcess = `Its process took ${seconds(wallSeconds)}`
    if (trainingSeconds > totalSeconds || totalSeconds > wallSeconds) {
      return [
        `${runId}: reports ${seconds(trainingSeconds)} of steps and ${seconds(totalSeconds)} in all. ${ofProcess}, and each must fit into the next. Report seconds, and count ${TOTAL_SECONDS} from the start of the process`,
      ]
    }
    if (run.longestPhaseSeconds > wallSeconds) {
      return [
        `${runId}: reports a phase of ${seconds(run.longestPhaseSeconds)}. ${ofProcess}, and a phase must fit into it. Report seconds`,
      ]
    }
    if (successiveSeconds > totalSeconds * SAME_CLOCK) {
      return [
        `${runId}: reports ${seconds(successiveSeconds)} of set-up, steps and evaluations, and ${seconds(totalSeconds)} in all. Count ${TOTAL_SECONDS} from the start of the process, and give a compilation or capture inside a step the number of that step`,
      ]
    }
    const unexplained = wallSeconds - accountedSeconds
    return unexplained > Math.max(UNREPORTED_SECONDS, wallSeconds / 2)
      ? [
          `${runId}: steps, set-up, evaluations and checkpoints account for ${seconds(accountedSeconds)} of ${seconds(wallSeconds)}. Check that the timer waits for the device: a host clock around asynchronous launches misses most of a step`,
        ]
      : []
  })
}
