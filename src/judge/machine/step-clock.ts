// Do step seconds fill the time between a trainer's reports of its steps, by our clock? More cannot be; less may be.
import type { MachineRecord, Watched } from '../../measure/machine-record.ts'
import type { FinishedRun } from '../../measure/summary.ts'
import { isMeasured } from '../../plan/plan.ts'
import type { CompleteMetrics } from '../../read/metrics-record.ts'
import { sumOf } from '../../statistics/averages.ts'
import { percent } from '../../text/numbers.ts'
import { listed } from '../../text/wording.ts'
import { type MachineCheck, machineCheck } from './machine-check.ts'

/** By which a ratio of 3 moves by 0.03. */
const MAX_EXCESS = 0.01

/** Beside the evaluations and phases that it reports, our trainer leaves up to 1% between its reports. */
const MAX_REST = 0.05

/** In less, a look that comes late on a busy machine would be a large part. */
const MIN_REST_SECONDS = 10

/** A trainer that does not wait for its GPU at each step tells a step when it has started the next ones. */
const LATE_STEPS = 2

/** Reports are looked for this often (launch-run.ts), so that a first one may be seen so much too late. */
const LOOK_SECONDS = 0.5

/**
 * Warnings, not failures: a trainer whose lines wait in a buffer, or that evaluates without saying how long, looks the
 * same. Nothing where all fits, or where no two reports were seen apart. Warm-up steps are left out, since some compile
 * while they are reported.
 */
export function checkStepClock(
  runs: readonly FinishedRun[],
  warmUpStepsOf: (run: FinishedRun) => number,
  { records }: Watched,
): MachineCheck[] {
  const spans = runs.flatMap((finished) => {
    const { run, metrics } = finished
    const record = records.get(run.id)?.[0]
    const span = isMeasured(run) && record ? spanOf(metrics, warmUpStepsOf(finished), record) : null
    return span ? [{ id: run.id, ...span }] : []
  })
  const over = (most: number, of: (span: (typeof spans)[number]) => number) =>
    spans.flatMap((span) => (of(span) > most ? [`${span.id} (${percent(of(span))})`] : []))
  const excessive = over(MAX_EXCESS, ({ excess }) => excess)
  const short = over(MAX_REST, ({ rest }) => rest)
  const details = [
    ...(excessive.length > 0
      ? [
          `more step seconds than passed between the reports of the steps, in ${listed(excessive)}. The largest of all ranks for each step counts lateness twice: report the steps of one rank`,
        ]
      : []),
    ...(short.length > 0
      ? [
          `time between the reports of the steps that no step, evaluation or phase accounts for, in ${listed(short)}. A host clock around asynchronous launches misses most of a step. Report evaluations and checkpoints with their step and seconds, as soon as each is over`,
        ]
      : []),
  ]
  return details.length > 0
    ? [machineCheck('step clock', { status: 'warned', detail: details.join('; ') })]
    : []
}

/** Of the time from one report of steps to the last: by how much its steps exceed it, and what is left of it. */
function spanOf(
  { steps: { seconds }, evaluations, phases }: CompleteMetrics,
  warmUpSteps: number,
  { steps: reports }: MachineRecord,
): { readonly excess: number; readonly rest: number } | null {
  const first = reports.find(({ last_step }) => last_step >= warmUpSteps)
  const last = reports.at(-1)
  if (first === undefined || last === undefined || last.last_step <= first.last_step) return null
  const passed = last.seconds - first.seconds
  const claimed = sumOf(seconds.slice(first.last_step, last.last_step))
  const lateSeconds = (LATE_STEPS * claimed) / (last.last_step - first.last_step)
  const isBetween = (step: number | null) => step !== null && step >= first.last_step && step < last.last_step
  const otherSeconds = sumOf(
    [...evaluations, ...phases].map((event) => (isBetween(event.step) ? (event.seconds ?? 0) : 0)),
  )
  return {
    excess: claimed / (passed + LOOK_SECONDS + lateSeconds) - 1,
    rest: passed < MIN_REST_SECONDS ? 0 : 1 - (claimed + otherSeconds + LOOK_SECONDS) / passed,
  }
}
