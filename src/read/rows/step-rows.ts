// Rows of steps -> windows of steps: in order, each with its duration, or what is wrong with them.
import { problemAt } from '../event-problems.ts'
import { STEPS_AT_ONCE } from '../event-size.ts'
import type { Held } from '../events.ts'
import type { ReadEvent } from '../reader.ts'
import type { Declared, StepTimes } from './declared.ts'
import type { EvaluationRow, StepRow } from './row.ts'

/** Steps since the last row with a time share what passed between the two. */
interface Clock {
  readonly step: number
  readonly time: number
}

export interface Progress {
  steps: number
  /** Null where a step has none. */
  samples: number | null
  /** The last one; null before the first. */
  evaluation: EvaluationRow | null
  /** Of the first evaluation after steps that have no rows, while no step has one. */
  early: EvaluationRow | null
  clock: Clock | null
  /** Steps before the first row with a time: their duration is unknown until the next one. */
  untimed: { readonly row: StepRow; readonly first: number } | null
  /** Since the last row of a step: they may lie in the time of the next. */
  between: { readonly holds: Held | null; readonly seconds: number; readonly isKnown: boolean }
  last: string
}

export const NOTHING_BETWEEN = { holds: null, seconds: 0, isKnown: true }

export function* stepEvents(
  row: StepRow,
  progress: Progress,
  declared: Declared,
  times: StepTimes,
): Generator<ReadEvent> {
  if (times === 'unknown') {
    progress.steps = Math.max(progress.steps, row.step)
    progress.between = NOTHING_BETWEEN
    return
  }
  if (progress.early !== null) {
    yield missingSteps(progress.early, 0)
    progress.early = null
  }
  const wrong = orderProblem(row, progress, times)
  if (wrong !== null) {
    yield { problem: wrong }
    progress.steps = Math.max(progress.steps, row.step)
    return
  }
  if (times === 'read') yield* windowOf(row, row.step, row.seconds ?? Number.NaN, progress, declared)
  else yield* derivedWindow(row, progress, declared)
  progress.between = NOTHING_BETWEEN
}

function orderProblem({ where, step, seconds, time }: StepRow, progress: Progress, times: StepTimes) {
  const expected = progress.steps + 1
  if (step < 1)
    return problemAt(
      where,
      'out-of-order',
      `is step ${step} when steps count from 1; the source counts from 0: set metrics.first_step: 0`,
    )
  if (step < expected)
    return problemAt(
      where,
      'out-of-order',
      `is step ${step} after step ${progress.steps}; write a fresh file for each run, each step once, and only from rank 0`,
    )
  if (times === 'read' && step === 2 && expected === 1)
    return problemAt(
      where,
      'out-of-order',
      'is the first row, of step 2. If the source calls its first step 1, set metrics.first_step: 1; else write a row for every step',
    )
  if (times === 'read' && step > expected)
    return problemAt(
      where,
      'out-of-order',
      `is step ${step}, expected ${expected}: step seconds need a row for every step, such as a logging interval of 1`,
    )
  if (times === 'read' && seconds === null)
    return problemAt(where, 'malformed', 'has no step seconds; write them with every step')
  if (times === 'derived' && time === null)
    return problemAt(where, 'malformed', 'has no time; write it with every row')
  if (times === 'derived' && progress.clock !== null && time !== null && time <= progress.clock.time)
    return problemAt(where, 'out-of-order', 'has a time that is not after that of the row before it')
  return null
}

/** The mean of the steps since the last row, without the evaluations between. The first window has that of the next. */
function* derivedWindow(row: StepRow, progress: Progress, declared: Declared): Generator<ReadEvent> {
  const time = row.time ?? 0
  const { clock, untimed, between } = progress
  if (clock === null) {
    progress.untimed = { row, first: row.step }
    progress.clock = { step: row.step, time }
    progress.steps = row.step
    return
  }
  const seconds = (time - clock.time - between.seconds) / (row.step - clock.step)
  if (seconds <= 0) {
    yield {
      problem: problemAt(
        row.where,
        'malformed',
        `the evaluations since step ${clock.step} took longer than all that time; check the unit and the key of evaluation_seconds`,
      ),
    }
    return
  }
  if (untimed !== null) {
    progress.untimed = null
    progress.steps = 0
    yield* windowOf(untimed.row, untimed.first, seconds, progress, declared, null)
  }
  progress.clock = { step: row.step, time }
  yield* windowOf(row, row.step, seconds, progress, declared, between.isKnown ? null : between.holds)
}

function* windowOf(
  row: StepRow,
  last: number,
  seconds: number,
  progress: Progress,
  { samples_per_step }: Declared,
  holds: Held | null = progress.between.holds,
): Generator<ReadEvent> {
  const samples = row.samples ?? samples_per_step ?? null
  progress.samples =
    samples === null || progress.samples === null
      ? null
      : progress.samples + samples * (last - progress.steps)
  for (let first = progress.steps + 1; first <= last; first += STEPS_AT_ONCE) {
    const length = Math.min(STEPS_AT_ONCE, last - first + 1)
    const column = <Value>(value: Value | null) =>
      value === null ? undefined : Array<Value>(length).fill(value)
    yield {
      where: row.where,
      event: {
        event: 'steps',
        first_step: first,
        step_seconds: column(seconds),
        samples: column(samples),
        train_loss: column(row.trainLoss),
        holds: column(holds),
      },
      characters: row.characters,
    }
  }
  progress.steps = last
}

export function missingSteps({ where, step }: EvaluationRow, steps: number): ReadEvent {
  const cause =
    'the steps have no rows any more, or the source counts from 0 in one of them. Look at the rows before it, then at metrics.first_step and metrics.evaluation_first_step'
  return {
    problem: problemAt(
      where,
      'out-of-order',
      `is an evaluation after ${step} steps, but only ${steps} steps stand before it: ${cause}`,
    ),
  }
}
