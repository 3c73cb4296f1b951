// Rows of a source that is no trainer of the contract's -> the contract's events. What it does not hold stays unknown.
import { problemAt } from '../event-problems.ts'
import type { ReadEvent } from '../reader.ts'
import type { Declared, StepTimes } from './declared.ts'
import type { EvaluationRow, Row } from './row.ts'
import { missingSteps, NOTHING_BETWEEN, type Progress, stepEvents } from './step-rows.ts'

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
