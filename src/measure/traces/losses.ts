// The runs of both variants -> their training loss and held-out loss over the samples seen, with the spread of the runs.
import type { Variant } from '../../config/experiment.ts'
import { HELD_OUT_LOSS } from '../../metrics/catalogue.ts'
import { sumOf } from '../../statistics/averages.ts'
import type { FinishedRun } from '../summary.ts'
import { curveOf, type Line, partEnds, type SpreadCurve, spreadOf } from './spread.ts'

/** Of the runs that report it for every step; each number is the mean over a part of the training. */
export function trainingLoss(runs: readonly FinishedRun[], points: number): SpreadCurve | null {
  const having = runs.filter(
    ({ metrics: { steps } }) => steps.trainLoss.length > 0 && steps.trainLoss.length === steps.seconds.length,
  )
  const longest = most(having.map(({ metrics }) => sumOf(metrics.steps.samples)))
  const largestStep = most(having.map(({ metrics }) => most(metrics.steps.samples)))
  // A part of fewer samples than a step has may hold no step.
  const parts = Math.min(points, Math.floor(longest / largestStep))
  if (!(parts >= 2)) return null
  const ends = partEnds(0, longest, parts)
  const ofVariant = (variant: Variant) => having.filter(({ run }) => run.variant === variant)
  return curveOf(
    ends.map(Math.round),
    (variant) =>
      spreadOf(
        ofVariant(variant).map((run) => meanLosses(run, ends)),
        parts,
      ),
    (variant) => ofVariant(variant).length,
  )
}

/** Weighted by the samples of each step; null after the end of the run. */
function meanLosses({ metrics: { steps } }: FinishedRun, ends: readonly number[]): Line {
  const sums = ends.map(() => ({ loss: 0, samples: 0 }))
  let [seen, part] = [0, 0]
  steps.samples.forEach((count, step) => {
    seen += count
    while (part < ends.length - 1 && seen > (ends[part] ?? 0)) part += 1
    const sum = sums[part]
    if (sum === undefined) return
    sum.loss += (steps.trainLoss[step] ?? Number.NaN) * count
    sum.samples += count
  })
  return sums.map(({ loss, samples }) => (samples > 0 ? loss / samples : null))
}

/** At the samples after which every run of a variant was evaluated. */
export function heldOutLoss(runs: readonly FinishedRun[], points: number): SpreadCurve | null {
  const evaluated = runs.map(({ run, metrics }) => ({
    variant: run.variant,
    losses: new Map(metrics.evaluations.map((one) => [one.samples_seen, one[HELD_OUT_LOSS]])),
  }))
  const all = [...new Set(evaluated.flatMap(({ losses }) => [...losses.keys()]))].sort((a, b) => a - b)
  const places = every(all, points)
  const ofVariant = (variant: Variant) => evaluated.filter((one) => one.variant === variant)
  return curveOf(
    places,
    (variant) =>
      spreadOf(
        ofVariant(variant).map(({ losses }) => places.map((place) => losses.get(place) ?? null)),
        places.length,
      ),
    (variant) => ofVariant(variant).length,
  )
}

/** So many at most, the last one among them. */
function every<Item>(items: readonly Item[], most: number): Item[] {
  const step = Math.max(1, Math.ceil(items.length / most))
  return items.filter((_, index) => (items.length - 1 - index) % step === 0)
}

/** Math.max(...) would overflow the stack on some hundred thousand steps. */
function most(values: readonly number[]): number {
  return values.reduce((largest, value) => Math.max(largest, value), 0)
}
