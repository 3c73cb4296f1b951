// When a training reached a given held-out loss for good.

import { HELD_OUT_LOSS } from '../../metrics/catalogue.ts'
import { isPartOfLoss } from '../../metrics/families.ts'
import type { Evaluation } from '../../read/events.ts'
import type { CompleteMetrics } from '../../read/metrics-record.ts'
import { sumOf } from '../../statistics/averages.ts'
import { ownValue } from '../../text/own-value.ts'
import { liesInStep } from '../phases.ts'

/** A held-out loss that is to be reached, as evaluations name it. */
interface Wanted {
  readonly name: string
  readonly limit: number
}

/** Why a run has no time to a quality. */
export type NoTimeToQuality =
  | { readonly kind: 'evaluated once' }
  | { readonly kind: 'misplaced'; readonly evaluation: Evaluation }
  /** Its baseline tells of none. */
  | { readonly kind: 'no parts' }
  /** Held against its baseline. */
  | { readonly kind: 'other parts'; readonly missing: readonly string[]; readonly further: readonly string[] }
  /** At its end, with these losses where they were to be at most `limit`. */
  | { readonly kind: 'ends above'; readonly losses: readonly (Wanted & { readonly value: number })[] }

/**
 * Seconds of set-up and training steps until the held-out loss is at most that of `quality` and stays so to the end,
 * linear between two evaluations; evaluations and checkpoints themselves are not counted. Not until it first was: a
 * loss that scatters is below by luck before it is by rights.
 */
export function timeToQuality(run: CompleteMetrics, quality: Evaluation): number | NoTimeToQuality {
  return secondsUntil(run, [wantedWhole(quality)])
}

/**
 * The same, until all held-out losses of `quality` are reached at once, and stay so: the whole one and those that its
 * metrics call `<loss>/<part>`, since a mean over parts tells only of those with large errors. An evaluation that
 * leaves one out has not reached it.
 */
export function timeToEachQuality(run: CompleteMetrics, quality: Evaluation): number | NoTimeToQuality {
  const parts = partsOf(quality)
  if (parts.length === 0) return { kind: 'no parts' }
  const own = run.evaluations.slice(-1).flatMap(partsOf)
  const [missing, further] = [namesBeside(own, parts), namesBeside(parts, own)]
  if (missing.length + further.length > 0) return { kind: 'other parts', missing, further }
  return secondsUntil(run, [wantedWhole(quality), ...parts])
}

function wantedWhole({ [HELD_OUT_LOSS]: limit }: Evaluation): Wanted {
  return { name: HELD_OUT_LOSS, limit }
}

function partsOf({ metrics = {} }: Evaluation): Wanted[] {
  return Object.entries(metrics)
    .filter(([name]) => isPartOfLoss(name))
    .map(([name, limit]) => ({ name, limit }))
}

/** Parts that the others do not have. */
function namesBeside(others: readonly Wanted[], parts: readonly Wanted[]): string[] {
  return parts.map(({ name }) => name).filter((name) => !others.some((other) => other.name === name))
}

function lossOf({ name }: Wanted, { [HELD_OUT_LOSS]: whole, metrics }: Evaluation): number {
  return (name === HELD_OUT_LOSS ? whole : ownValue(metrics, name)) ?? Number.NaN
}

function secondsUntil(run: CompleteMetrics, wanted: readonly Wanted[]): number | NoTimeToQuality {
  const evaluation = misplacedEvaluation(run)
  if (evaluation !== null) return { kind: 'misplaced', evaluation }
  const curve = run.evaluations.toSorted((a, b) => a.step - b.step)
  const end = curve.at(-1)
  if (!end || curve.length < 2) return { kind: 'evaluated once' }
  const notReached = (evaluation: Evaluation) =>
    wanted.filter((loss) => !(lossOf(loss, evaluation) <= loss.limit))
  const losses = notReached(end).map((loss) => ({ ...loss, value: lossOf(loss, end) }))
  if (losses.length > 0) return { kind: 'ends above', losses }
  const last = curve.findLastIndex((evaluation) => notReached(evaluation).length > 0)
  const [before, at = end] = [curve[last], curve[last + 1]]
  const seconds = secondsAt(run, at.step)
  // What an evaluation leaves out may have been reached at any time since, so at the latest.
  if (!before || wanted.some((loss) => Number.isNaN(lossOf(loss, before)))) return seconds
  const start = secondsAt(run, before.step)
  const shares = notReached(before).map((loss) => {
    const [from, to] = [lossOf(loss, before), lossOf(loss, at)]
    return (from - loss.limit) / (from - to)
  })
  return start + Math.max(...shares) * (seconds - start)
}

/** The first whose step and samples do not fit the steps: an epoch's number would make the time far too short. */
function misplacedEvaluation({ evaluations, steps }: CompleteMetrics): Evaluation | null {
  let step = 0
  let samples = 0
  for (const evaluation of evaluations.toSorted((a, b) => a.step - b.step)) {
    if (evaluation.step > steps.samples.length) return evaluation
    for (; step < evaluation.step; step += 1) samples += steps.samples[step] ?? 0
    if (evaluation.samples_seen !== samples) return evaluation
  }
  return null
}

function secondsAt(run: CompleteMetrics, step: number): number {
  const setUp = run.phases.filter((phase) => phase.name !== 'checkpoint' && !liesInStep(phase, run))
  return sumOf([...setUp.map(({ seconds }) => seconds), ...run.steps.seconds.slice(0, step)])
}
