// When a training reached a given held-out loss for good.
import { sumOf } from '../statistics/averages.ts'
import type { Evaluation } from './metrics-schema.ts'
import type { WholeMetrics } from './outcome.ts'

const PART = 'val_loss/'

/** Whether a run's metric, as gates name it, is the held-out loss of a part. */
export function isLossOfPart(metric: string): boolean {
  return metric.startsWith(`evaluation.${PART}`)
}

/** A held-out loss that is to be reached. */
interface Wanted {
  readonly lossOf: (evaluation: Evaluation) => number | undefined
  readonly limit: number
}

/**
 * Seconds of set-up and training steps until the held-out loss is at most `valLoss` and stays so to the end, linear
 * between two evaluations; evaluations and checkpoints themselves are not counted. Not until it first was: a loss that
 * scatters is below by luck before it is by rights. Null if it ends above, or if nobody knows when: the run was
 * evaluated only once, or at steps that are none of its own.
 */
export function secondsToQuality(run: WholeMetrics, valLoss: number): number | null {
  return secondsUntil(run, [{ lossOf: ({ val_loss }) => val_loss, limit: valLoss }])
}

/**
 * The same, until all held-out losses of `quality` are reached at once, and stay so: the whole one and those that its
 * metrics call `val_loss/<part>`, since a mean over parts tells only of those with large errors. An evaluation that
 * leaves one out has not reached it. Null without such parts, or where the run does not end with the same.
 */
export function secondsToEachQuality(run: WholeMetrics, quality: Evaluation): number | null {
  const parts = partsOf(quality)
  const own = run.evaluations.at(-1)
  if (parts.length === 0 || !own || namesOf(partsOf(own)) !== namesOf(parts)) return null
  return secondsUntil(run, [
    { lossOf: ({ val_loss }) => val_loss, limit: quality.val_loss },
    ...parts.map(([name, limit]) => ({ lossOf: ({ metrics }: Evaluation) => metrics?.[name], limit })),
  ])
}

type Part = readonly [name: string, loss: number]

function partsOf({ metrics = {} }: Evaluation): Part[] {
  return Object.entries(metrics).filter(([name]) => name.startsWith(PART))
}

function namesOf(parts: readonly Part[]): string {
  return parts
    .map(([name]) => name)
    .sort()
    .join('\n')
}

function secondsUntil(run: WholeMetrics, wanted: readonly Wanted[]): number | null {
  if (misplacedEvaluation(run) !== null) return null
  const curve = run.evaluations.toSorted((a, b) => a.step - b.step)
  if (curve.length < 2) return null
  const isTold = ({ lossOf }: Wanted, evaluation: Evaluation) => lossOf(evaluation) !== undefined
  const isReached = ({ lossOf, limit }: Wanted, evaluation: Evaluation) =>
    (lossOf(evaluation) ?? Number.NaN) <= limit
  const last = curve.findLastIndex((evaluation) => !wanted.every((loss) => isReached(loss, evaluation)))
  const [before, at] = [curve[last], curve[last + 1]]
  if (!at) return null
  const seconds = secondsAt(run, at.step)
  // What an evaluation leaves out may have been reached at any time since, so at the latest.
  if (!before || !wanted.every((loss) => isTold(loss, before))) return seconds
  const start = secondsAt(run, before.step)
  const shares = wanted
    .filter((loss) => !isReached(loss, before))
    .map(({ lossOf, limit }) => {
      const [from, to] = [lossOf(before) ?? Number.NaN, lossOf(at) ?? Number.NaN]
      return (from - limit) / (from - to)
    })
  const found = start + Math.max(...shares) * (seconds - start)
  return Number.isFinite(found) ? found : null
}

/** The first whose step and samples do not fit the steps: an epoch's number would make the time far too short. */
export function misplacedEvaluation({ evaluations, steps }: WholeMetrics): Evaluation | null {
  let step = 0
  let samples = 0
  for (const evaluation of evaluations.toSorted((a, b) => a.step - b.step)) {
    if (evaluation.step > steps.samples.length) return evaluation
    for (; step < evaluation.step; step += 1) samples += steps.samples[step] ?? 0
    if (evaluation.samples_seen !== samples) return evaluation
  }
  return null
}

/** A phase with a step happened within that step's own seconds. */
function secondsAt({ phases, steps }: WholeMetrics, step: number): number {
  const setUp = phases.filter((phase) => phase.step === null && phase.name !== 'checkpoint')
  return sumOf([...setUp.map(({ seconds }) => seconds), ...steps.seconds.slice(0, step)])
}
