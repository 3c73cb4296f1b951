// When a training first reached a given held-out loss.
import { sumOf } from '../statistics/averages.ts'
import type { Evaluation } from './metrics-schema.ts'
import type { WholeMetrics } from './outcome.ts'

const PART = 'val_loss/'

/**
 * Seconds of set-up and training steps until the held-out loss was first at most `valLoss`, linear between two
 * evaluations; evaluations and checkpoints themselves are not counted. Null if it never was, or if nobody knows when:
 * the run was evaluated only once, or at steps that are none of its own.
 */
export function secondsToQuality(run: WholeMetrics, valLoss: number): number | null {
  return secondsUntil(run, ({ val_loss }) => val_loss, valLoss)
}

/**
 * The same, until every held-out loss of `quality` has been reached: the whole one and those that its metrics call
 * `val_loss/<part>`, since a mean over parts tells only of those with large errors. Null without such parts.
 */
export function secondsToEachQuality(run: WholeMetrics, quality: Evaluation): number | null {
  const parts = Object.entries(quality.metrics ?? {}).filter(([name]) => name.startsWith(PART))
  if (parts.length === 0) return null
  const seconds = [
    secondsToQuality(run, quality.val_loss),
    ...parts.map(([name, loss]) => secondsUntil(run, ({ metrics }) => metrics?.[name] ?? Number.NaN, loss)),
  ]
  return seconds.includes(null) ? null : Math.max(...seconds.map(Number))
}

function secondsUntil(
  run: WholeMetrics,
  lossOf: (evaluation: Evaluation) => number,
  limit: number,
): number | null {
  if (misplacedEvaluation(run) !== null) return null
  const curve = run.evaluations.toSorted((a, b) => a.step - b.step)
  const reached = curve.findIndex((evaluation) => lossOf(evaluation) <= limit)
  const at = curve[reached]
  if (curve.length < 2 || !at) return null
  const seconds = secondsAt(run, at.step)
  const before = curve[reached - 1]
  if (!before) return seconds
  const share = (lossOf(before) - limit) / (lossOf(before) - lossOf(at))
  const start = secondsAt(run, before.step)
  const found = start + share * (seconds - start)
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
