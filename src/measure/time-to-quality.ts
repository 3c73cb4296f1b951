// When a training first reached a given held-out loss.
import { sumOf } from '../statistics/averages.ts'
import type { WholeMetrics } from './outcome.ts'

/**
 * Seconds of set-up and training steps until the held-out loss was first at most `valLoss`, linear between two
 * evaluations; evaluations and checkpoints themselves are not counted. Null if it never was, or if the run was
 * evaluated only once: then nobody knows when.
 */
export function secondsToQuality(run: WholeMetrics, valLoss: number): number | null {
  const curve = run.evaluations.toSorted((a, b) => a.step - b.step)
  const reached = curve.findIndex((evaluation) => evaluation.val_loss <= valLoss)
  const at = curve[reached]
  if (curve.length < 2 || !at) return null
  const seconds = secondsAt(run, at.step)
  const before = curve[reached - 1]
  if (!before) return seconds
  const share = (before.val_loss - valLoss) / (before.val_loss - at.val_loss)
  const start = secondsAt(run, before.step)
  const found = start + share * (seconds - start)
  return Number.isFinite(found) ? found : null
}

/** A phase with a step happened within that step's own seconds. */
function secondsAt({ phases, steps }: WholeMetrics, step: number): number {
  const setUp = phases.filter((phase) => phase.step === null && phase.name !== 'checkpoint')
  return sumOf([...setUp.map(({ seconds }) => seconds), ...steps.seconds.slice(0, step)])
}
