// Rows of a source that is no trainer of the contract's -> the contract's events. What it does not hold stays unknown.
import { problemAt } from '../event-problems.ts'
import { STEPS_AT_ONCE } from '../event-size.ts'
import type { Held } from '../events.ts'
import type { ReadEvent } from '../reader.ts'
import type { Declared, StepTimes } from './declared.ts'
import type { EvaluationRow, Row, StepRow } from './row.ts'

/** Steps since the last row with a time share what passed between the two. */
interface Clock {
  readonly step: number
  readonly time: number
}

interface Progress {
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

const NOTHING_BETWEEN = { holds: null, seconds: 0, isKnown: true }

/** A source that a training has ended without a mark of its end: whether it is whole, its exit code tells. */
export async function* eventsOf(
  name: string,
  rows: AsyncIterable<Row>,
  declared: Declared,
  times: StepTimes,
): AsyncGenerator<ReadEvent> {
  const { evaluation_samples, samples_per_step } = declared
  const start = {
    event: 'run_start',
    schema_version: 1,
    evaluation_samples,
    // A clock does not tell when one was written.
    steps_include: times === 'derived' ? ['checkpoint'] : undefined,
  }
  const progress: Progress = {
    steps: 0,
    samples: 0,
    evaluation: null,
    early: null,
    clock: null,
    untimed: null,
    between: NOTHING_BETWEEN,
    last: name,
  }
  let isEmpty = true
  for await (const row of rows) {
    if (isEmpty) yield { where: name, event: start, characters: 0 }
    isEmpty = false
    if (row.kind === 'problem') {
      yield row
      continue
    }
    progress.last = row.where
    switch (row.kind) {
      case 'step':
        yield* stepEvents(row, progress, declared, times)
        break
      case 'evaluation':
        yield evaluationEvent(row, progress, declared, times)
        break
      case 'checkpoint':
        progress.between = { ...progress.between, holds: 'checkpoint', isKnown: false }
        break
      case 'begin':
        if (progress.steps === 0) progress.clock = { step: 0, time: row.time }
        break
      case 'length':
        progress.steps = Math.max(progress.steps, row.steps)
    }
  }
  if (progress.untimed !== null)
    yield {
      problem: problemAt(
        progress.untimed.row.where,
        'malformed',
        `only one row has a time, so no step has a duration. Write one at least every ${Math.max(1, Math.floor(progress.steps / 4))} steps`,
      ),
    }
  const behind = times === 'derived' && progress.untimed === null ? progress.evaluation : null
  if (behind !== null && behind.step > progress.steps) yield untimedSteps(behind, progress.steps)
  if (progress.steps === 0 && progress.evaluation === null) return
  yield {
    where: progress.last,
    event: {
      event: 'run_end',
      status: 'finished',
      samples:
        times === 'unknown' ? multiple(progress.steps, samples_per_step) : (progress.samples ?? undefined),
      attempted_updates: progress.steps,
      skipped_updates: 0, // such a source does not tell
    },
    characters: 0,
  }
}

function* stepEvents(
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

function evaluationEvent(
  row: EvaluationRow,
  progress: Progress,
  { samples_per_step }: Declared,
  times: StepTimes,
): ReadEvent {
  const { where, step, valLoss, metrics, notFinite, seconds, characters } = row
  const { between, evaluation: before } = progress
  progress.evaluation = row
  progress.between = {
    holds: between.holds ?? 'evaluation',
    seconds: between.seconds + (seconds ?? 0),
    isKnown: between.isKnown && seconds !== null,
  }
  if (times === 'unknown') progress.steps = Math.max(progress.steps, step)
  // Where no step has a row, the reader of the source says why.
  if (times === 'read' && step > progress.steps && progress.steps === 0) progress.early ??= row
  else if (times === 'read' && step > progress.steps) return missingSteps(row, progress.steps)
  if (before !== null && step < before.step)
    return {
      problem: problemAt(
        where,
        'out-of-order',
        `is an evaluation after ${step} steps, but the one before it was after ${before.step}; write a fresh file for each run, and only from rank 0`,
      ),
    }
  if (step < 0)
    return {
      problem: problemAt(
        where,
        'out-of-order',
        `is an evaluation after ${step} steps; set metrics.evaluation_first_step: 0`,
      ),
    }
  const isHere = step === progress.steps && times !== 'unknown'
  return {
    where,
    event: {
      event: 'evaluation',
      step,
      samples_seen: isHere ? (progress.samples ?? undefined) : multiple(step, samples_per_step),
      val_loss: valLoss,
      metrics,
      not_finite: notFinite.length > 0 ? notFinite : undefined,
      seconds: seconds ?? undefined,
    },
    characters,
  }
}

function multiple(steps: number, each: number | undefined): number | undefined {
  return each === undefined ? undefined : steps * each
}

function untimedSteps({ where, step }: EvaluationRow, steps: number): ReadEvent {
  const reason = `is an evaluation after ${step} steps, but the last row with a time is of step ${steps}. Write a row at the last step too: choose a logging interval that divides the number of steps, such as logging_steps that divides max_steps`
  return { problem: problemAt(where, 'malformed', reason) }
}

function missingSteps({ where, step }: EvaluationRow, steps: number): ReadEvent {
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
