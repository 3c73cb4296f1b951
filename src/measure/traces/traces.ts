// What the pictures of a report are drawn from: bounded, however long the trainings were and however many.
import type { Watched } from '../machine-record.ts'
import type { Launched } from '../outcome.ts'
import type { FinishedRun } from '../summary.ts'
import { heldOutLoss, trainingLoss } from './losses.ts'
import type { SpreadCurve } from './spread.ts'
import { type StepTimes, stepTimes } from './step-times.ts'
import { type TimeParts, timeParts } from './time-parts.ts'
import { type Timeline, timelineOf } from './timeline.ts'

/** Null where nobody reported what it takes. */
export interface Traces {
  readonly trainingLoss: SpreadCurve | null
  readonly heldOutLoss: SpreadCurve | null
  readonly stepTimes: StepTimes | null
  readonly timeParts: TimeParts | null
  readonly timeline: Timeline | null
}

export interface Counted {
  /** Ids of the measured runs that count. */
  readonly runIds: ReadonlySet<string>
  readonly warmUpStepsOf: (run: FinishedRun) => number
}

/** `points`: of each curve; a timeline has four times as many. */
export function tracesOf(
  launched: readonly Launched[],
  watched: Watched,
  { runIds, warmUpStepsOf }: Counted,
  points: number,
): Traces {
  const runs = launched
    .map(({ outcome }) => outcome)
    .filter((outcome) => outcome.status === 'finished')
    .filter(({ run }) => runIds.has(run.id))
  return {
    trainingLoss: trainingLoss(runs, points),
    heldOutLoss: heldOutLoss(runs, points),
    stepTimes: stepTimes(runs, warmUpStepsOf, points),
    timeParts: timeParts(runs),
    timeline: timelineOf(launched, watched, TIMELINE_FACTOR * points),
  }
}

const TIMELINE_FACTOR = 4
