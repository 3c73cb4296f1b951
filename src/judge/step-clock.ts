// Do step seconds fit between a trainer's reports of its steps, by our clock? Less proves nothing, more cannot be.
import type { MachineRecord, Watched } from '../measure/machine-record.ts'
import type { FinishedRun } from '../measure/summary.ts'
import { sumOf } from '../statistics/averages.ts'
import { listed } from '../text/listed.ts'
import { percent } from '../text/numbers.ts'
import { type MachineCheck, named } from './machine-check.ts'

/** By which a ratio of 3 moves by 0.03. */
const MAX_EXCESS = 0.01

/** Reports are looked for this often (launch-run.ts), so that a first one may be seen so much too late. */
const LOOK_SECONDS = 0.5

/**
 * A warning, not a failure: a trainer whose first lines wait in a buffer looks the same. Nothing where all fits, or
 * where no two reports were seen apart. Warm-up steps are left out, since some compile while they are reported.
 */
export function checkStepClock(
  runs: readonly FinishedRun[],
  warmUpStepsOf: (run: FinishedRun) => number,
  { records }: Watched,
): MachineCheck[] {
  const excessive = runs.flatMap((finished) => {
    const { run, metrics } = finished
    const record = records.get(run.id)
    const excess =
      run.block !== null && record ? excessOf(metrics.steps.seconds, warmUpStepsOf(finished), record) : 0
    return excess > MAX_EXCESS ? [`${run.id} (${percent(excess)})`] : []
  })
  if (excessive.length === 0) return []
  const detail = `more step seconds than passed between the reports of the steps, in ${listed(excessive)}; the largest of all ranks for each step counts lateness twice: report the steps of one rank`
  return [named('step clock', { state: 'warned', detail })]
}

function excessOf(stepSeconds: readonly number[], warmUpSteps: number, { steps }: MachineRecord): number {
  const first = steps.find(({ last_step }) => last_step >= warmUpSteps)
  const last = steps.at(-1)
  if (first === undefined || last === undefined || last.last_step <= first.last_step) return 0
  const claimed = sumOf(stepSeconds.slice(first.last_step, last.last_step))
  return claimed / (last.seconds - first.seconds + LOOK_SECONDS) - 1
}
