// Which trainings of a ladder are still to be launched.

import { lastConclusiveLaunch } from './measurement.ts'
import {
  isConclusive,
  type LadderLaunch,
  type LadderRung,
  type LadderTraining,
  type TrainingHash,
} from './record.ts'

export interface LaunchSelection {
  /** Launch again what failed. */
  readonly retry: boolean
  /** Names of the rungs to measure; null for all. */
  readonly rungNames: readonly string[] | null
}

/** In the order of the rungs. Trainings that were interrupted before come last, since that may happen again. */
export function remainingTrainings<Training extends Pick<LadderTraining, 'hash'>>(
  { trainings, rungs }: { readonly trainings: readonly Training[]; readonly rungs: readonly LadderRung[] },
  launches: readonly LadderLaunch[],
  { retry, rungNames }: LaunchSelection,
): Training[] {
  const chosen = rungs.filter(({ name }) => rungNames === null || rungNames.includes(name))
  const wanted = new Set(chosen.flatMap(({ from, alone, sumBefore, sum }) => [from, alone, sumBefore, sum]))
  if (rungNames === null) wanted.add(trainings.at(-1)?.hash ?? null)
  const remaining = trainings.slice(1).filter(({ hash }) => {
    const status = lastConclusiveLaunch(hash, launches)?.launched.outcome.status
    return wanted.has(hash) && (status === undefined || (retry && status === 'failed'))
  })
  const interruptions = ({ hash }: Training) =>
    launches.filter(({ training, launched }) => training === hash && launched.outcome.status === 'cancelled')
      .length
  return remaining.toSorted((one, other) => interruptions(one) - interruptions(other))
}

/** Not by a disturbance: without a baseline nothing can be compared, however often it is launched. */
export function isFailedBaseline(last: LadderLaunch | undefined, baseline: TrainingHash): boolean {
  return last?.training === baseline && isConclusive(last) && last.launched.outcome.status === 'failed'
}
