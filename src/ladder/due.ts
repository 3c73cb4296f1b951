// Which trainings of a ladder are still to be launched.
import {
  isAnswer,
  type LadderLaunch,
  type LadderRung,
  type LadderTraining,
  type TrainingHash,
} from './record.ts'
import { answerOf } from './standing.ts'

export interface Asked {
  /** Launch again what failed. */
  readonly retry: boolean
  /** Names of the rungs to measure; null for all. */
  readonly only: readonly string[] | null
}

/** In the order of the rungs, without what has an answer; what was cut before comes last, as it may be cut again. */
export function dueOf<Training extends Pick<LadderTraining, 'hash'>>(
  { trainings, rungs }: { readonly trainings: readonly Training[]; readonly rungs: readonly LadderRung[] },
  launches: readonly LadderLaunch[],
  { retry, only }: Asked,
): Training[] {
  const chosen = rungs.filter(({ name }) => only === null || only.includes(name))
  const wanted = new Set(chosen.flatMap(({ from, alone, sumBefore, sum }) => [from, alone, sumBefore, sum]))
  if (only === null) wanted.add(trainings.at(-1)?.hash ?? null)
  const due = trainings.slice(1).filter(({ hash }) => {
    const status = answerOf(hash, launches)?.launched.outcome.status
    return wanted.has(hash) && (status === undefined || (retry && status === 'failed'))
  })
  const cuts = ({ hash }: Training) =>
    launches.filter(({ training, launched }) => training === hash && launched.outcome.status === 'cancelled')
      .length
  return due.toSorted((one, other) => cuts(one) - cuts(other))
}

/** By itself: then nothing can be compared, however often it is launched. */
export function failedAsBaseline(last: LadderLaunch | undefined, baseline: TrainingHash): boolean {
  return last?.training === baseline && isAnswer(last) && last.launched.outcome.status === 'failed'
}
