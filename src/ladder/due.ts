// Which trainings of a ladder are still to be launched.
import { ConfigError } from '../errors.ts'
import type { ResolvedLadder } from './io/resolve-ladder.ts'
import type { Resolved } from './io/resolve-trainings.ts'
import { isAnswer, type LadderLaunch, type LadderRung, type TrainingHash } from './record.ts'
import { answerOf } from './standing.ts'

export interface Asked {
  /** Launch again what failed. */
  readonly retry: boolean
  readonly part: 'alone' | 'sum' | 'all'
  /** Names of the rungs to measure; null for all. */
  readonly only: readonly string[] | null
  /** What each of several calls side by side measures; null for all. */
  readonly shard: Shard | null
}

/** The `number`th, from 1, of `count` parts. */
export interface Shard {
  readonly number: number
  readonly count: number
}

/** NUMBER/COUNT. Throws a ConfigError. */
export function parseShard(text: string): Shard {
  const [, number, count] = /^(\d{1,3})\/(\d{1,3})$/.exec(text)?.map(Number) ?? []
  if (number !== undefined && count !== undefined && number >= 1 && number <= count) return { number, count }
  throw new ConfigError(`--shard: got "${text}", expected NUMBER/COUNT such as 1/4, the first of four parts`)
}

/** In the order of the rungs, without what has an answer; what was cut before comes last, as it may be cut again. */
export function dueOf(
  { trainings, rungs }: ResolvedLadder,
  launches: readonly LadderLaunch[],
  { part, retry, only, shard }: Asked,
): Resolved[] {
  const chosen = rungs.filter(({ name }) => only === null || only.includes(name))
  // By the rungs, which a failure does not change, so that no shard ever takes over what is another's.
  const ofAll = [...new Set(chosen.flatMap(({ alone, from }) => [from, alone]))]
  const alone = ofAll
    .filter((hash) => hash !== trainings[0]?.hash)
    .filter((_, index) => shard === null || index % shard.count === shard.number - 1)
  const isLast = shard === null || shard.number === shard.count
  const sum = [
    ...sumsOf(rungs, launches, { only, shard }).known.flatMap((rung) => [rung.sumBefore, rung.sum]),
    ...(only === null && isLast ? [trainings.at(-1)?.hash] : []),
  ]
  const wanted = new Set({ all: [...alone, ...sum], alone, sum }[part])
  const due = trainings.slice(1).filter(({ hash }) => {
    const status = answerOf(hash, launches)?.launched.outcome.status
    return wanted.has(hash) && (status === undefined || (retry && status === 'failed'))
  })
  const cuts = ({ hash }: Resolved) =>
    launches.filter(({ training, launched }) => training === hash && launched.outcome.status === 'cancelled')
      .length
  return due.toSorted((one, other) => cuts(one) - cuts(other))
}

interface Sums {
  readonly known: readonly LadderRung[]
  /** A sum before theirs fails, by a rung that is not known as long as `awaited` has not run. */
  readonly blocked: readonly LadderRung[]
  /** The sum before the first that fails so; null if none does. */
  readonly awaited: TrainingHash | null
}

/** Of the sums each shard has a stretch, which it can compare with the sum before it, launched beside them. */
export function sumsOf(
  rungs: readonly LadderRung[],
  launches: readonly LadderLaunch[],
  { only, shard }: Pick<Asked, 'only' | 'shard'>,
): Sums {
  const failing = new Set<TrainingHash | null>()
  const blocked = new Set<LadderRung>()
  let awaited: TrainingHash | null = null
  for (const rung of rungs.filter(({ isLeftOut }) => !isLeftOut)) {
    if (failing.has(rung.sumBefore)) blocked.add(rung)
    const hasFailed = rung.sum !== null && answerOf(rung.sum, launches)?.launched.outcome.status === 'failed'
    if (hasFailed && !blocked.has(rung)) awaited ??= rung.sumBefore
    if (blocked.has(rung) || hasFailed) failing.add(rung.sum)
  }
  const chosen = rungs.filter(({ name }) => only === null || only.includes(name))
  const until = (number: number) => Math.round((number * chosen.length) / (shard?.count ?? 1))
  const [first, end] = [until((shard?.number ?? 1) - 1), until(shard?.number ?? 1)]
  const own = chosen.slice(first, end)
  const known = own.filter((rung) => !blocked.has(rung))
  return { known, blocked: own.filter((rung) => blocked.has(rung)), awaited }
}

/** By itself: then nothing can be compared, however often it is launched. */
export function failedAsBaseline(last: LadderLaunch | undefined, baseline: TrainingHash): boolean {
  return last?.training === baseline && isAnswer(last) && last.launched.outcome.status === 'failed'
}
