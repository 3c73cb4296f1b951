// Which trainings of a ladder are still to be launched.

import { lastConclusiveLaunch } from './measurement.ts'
import {
  isConclusive,
  type LadderLaunch,
  type LadderRecord,
  type LadderRung,
  type LadderTraining,
  type TrainingHash,
} from './record.ts'

export interface Selection {
  /** Launch again what failed. */
  readonly retry: boolean
  /** Names of the rungs to measure; null for all. */
  readonly only: readonly string[] | null
}

/** In the order of the rungs, without conclusive launches; what was cancelled before comes last, as it may be again. */
export function dueOf<Training extends LadderTraining>(
  { trainings, rungs }: { readonly trainings: readonly Training[]; readonly rungs: readonly LadderRung[] },
  launches: readonly LadderLaunch[],
  { retry, only }: Selection,
): Training[] {
  const wanted = new Set<TrainingHash | null | undefined>([
    ...chosenOf(rungs, only).flatMap(({ alone, from }) => [from, alone]),
    ...sumsOf(rungs, launches, only).known.flatMap(({ sumBefore, sum }) => [sumBefore, sum]),
    ...(only === null ? [trainings.at(-1)?.hash] : []),
  ])
  const due = trainings.slice(1).filter(({ hash }) => {
    const status = lastConclusiveLaunch(hash, launches)?.launched.outcome.status
    return wanted.has(hash) && (status === undefined || (retry && status === 'failed'))
  })
  const cancellations = ({ hash }: Training) =>
    launches.filter(({ training, launched }) => training === hash && launched.outcome.status === 'cancelled')
      .length
  return due.toSorted((one, other) => cancellations(one) - cancellations(other))
}

function chosenOf(rungs: readonly LadderRung[], only: Selection['only']): LadderRung[] {
  return rungs.filter(({ name }) => only === null || only.includes(name))
}

interface Sums {
  readonly known: readonly LadderRung[]
  /** A sum before theirs fails, by a rung that is not known as long as `awaited` has not run. */
  readonly blocked: readonly LadderRung[]
  /** The sum before the first that fails so; null if none does. */
  readonly awaited: TrainingHash | null
}

/** Of the chosen rungs. */
export function sumsOf(
  rungs: readonly LadderRung[],
  launches: readonly LadderLaunch[],
  only: Selection['only'],
): Sums {
  const failing = new Set<TrainingHash | null>()
  const blocked = new Set<LadderRung>()
  let awaited: TrainingHash | null = null
  for (const rung of rungs.filter(({ isLeftOut }) => !isLeftOut)) {
    if (failing.has(rung.sumBefore)) blocked.add(rung)
    const hasFailed =
      rung.sum !== null && lastConclusiveLaunch(rung.sum, launches)?.launched.outcome.status === 'failed'
    if (hasFailed && !blocked.has(rung)) awaited ??= rung.sumBefore
    if (blocked.has(rung) || hasFailed) failing.add(rung.sum)
  }
  const { known = [], blocked: own = [] } = Object.groupBy(chosenOf(rungs, only), (rung) =>
    blocked.has(rung) ? 'blocked' : 'known',
  )
  return { known, blocked: own, awaited }
}

export interface Remaining {
  /** Titles of what is still to be measured. */
  readonly missing: readonly string[]
  /** Rungs whose sums cannot be measured by going on: one before fails, by a rung that is not among the chosen. */
  readonly blocked: readonly string[]
  /** The baseline failed by itself, so that calling again leads nowhere. */
  readonly hasFailed: boolean
}

/** What a call has left. `launchesBefore`: how many launches are of earlier calls. */
export function remainingAfter(
  record: LadderRecord,
  launchesBefore: number,
  selection: Selection,
): Remaining {
  const { rungs, launches, trainings } = record
  const own = launches.slice(launchesBefore)
  const missing = dueOf(record, launches, selection).filter(
    ({ hash }) => !own.some((launch) => launch.training === hash && isConclusive(launch)),
  )
  const { blocked, awaited } = sumsOf(rungs, launches, selection.only)
  const isFreedLater = missing.some(({ hash }) => hash === awaited)
  return {
    missing: missing.map(({ title }) => title),
    blocked: isFreedLater ? [] : blocked.map(({ name }) => name),
    hasFailed: missing.length > 0 && failedAsBaseline(launches.at(-1), trainings[0]?.hash ?? ''),
  }
}

/** By its own fault: then nothing can be compared, however often it is launched. */
export function failedAsBaseline(last: LadderLaunch | undefined, baseline: TrainingHash): boolean {
  return last?.training === baseline && isConclusive(last) && last.launched.outcome.status === 'failed'
}
