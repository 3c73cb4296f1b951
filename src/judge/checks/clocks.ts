// Do a trainer's clock and that of its process agree?
import type { RunSummary } from '../../measure/summary.ts'
import { TOTAL_SECONDS } from '../../metrics/catalogue.ts'
import { seconds } from '../../text/numbers.ts'
import type { VerdictInput } from '../verdict-input.ts'
import { type Check, checkOf } from './check.ts'

/** Imports, process groups and torchrun itself take this long on a slow machine, and no trainer reports them. */
const UNREPORTED_SECONDS = 60

/** Steps are timed on the device, all else on the host. */
const SAME_CLOCK = 1.01

export function checkClocks({ measured }: Pick<VerdictInput, 'measured'>): Check {
  const detail = 'what the runs report fits into the time that their processes took'
  return checkOf('clocks', clockProblems(measured), detail)
}

/**
 * The supervisor's clock against the trainer's: all that comes one after the other within the total, the total and
 * each phase within the process, little left over.
 */
function clockProblems(runs: readonly RunSummary[]): string[] {
  return runs.flatMap((run) => {
    const { runId, trainingSeconds, accountedSeconds, successiveSeconds, wallSeconds } = run
    const totalSeconds = run.metrics[TOTAL_SECONDS] ?? wallSeconds
    const inProcess = `in a process of ${seconds(wallSeconds)}`
    if (trainingSeconds > totalSeconds || totalSeconds > wallSeconds) {
      return [
        `${runId}: reports ${seconds(trainingSeconds)} of steps and ${seconds(totalSeconds)} in all, ${inProcess}; are they in seconds, and ${TOTAL_SECONDS} from the start of the process?`,
      ]
    }
    if (run.longestPhaseSeconds > wallSeconds) {
      return [
        `${runId}: reports a phase of ${seconds(run.longestPhaseSeconds)}, ${inProcess}; is it in seconds?`,
      ]
    }
    if (successiveSeconds > totalSeconds * SAME_CLOCK) {
      return [
        `${runId}: reports ${seconds(successiveSeconds)} of set-up, steps and evaluations, and ${seconds(totalSeconds)} in all. Count ${TOTAL_SECONDS} from the start of the process, and let only what names its step lie in a step`,
      ]
    }
    const unexplained = wallSeconds - accountedSeconds
    return unexplained > Math.max(UNREPORTED_SECONDS, wallSeconds / 2)
      ? [
          `${runId}: steps, set-up, evaluations and checkpoints explain ${seconds(accountedSeconds)} of ${seconds(wallSeconds)}; is a host clock around work that the device does later?`,
        ]
      : []
  })
}
