// How long the launches that are still to come will take, from those that are done.
import { VARIANTS, type Variant } from '../config/experiment.ts'
import type { PlannedRun } from './plan.ts'

export interface TimedRun {
  readonly run: PlannedRun
  readonly wallSeconds: number
}

/** Mean wall seconds of each variant's launches; measured ones if there are any, since warm-up launches are slower, or shorter. */
export function meanWallSeconds(timed: readonly TimedRun[]): Partial<Record<Variant, number>> {
  return Object.fromEntries(
    VARIANTS.flatMap((variant) => {
      const all = timed.filter(({ run }) => run.variant === variant)
      const measured = all.filter(({ run }) => run.purpose === 'measured')
      const used = measured.length > 0 ? measured : all
      const sum = used.reduce((total, { wallSeconds }) => total + wallSeconds, 0)
      return used.length > 0 ? [[variant, sum / used.length] as const] : []
    }),
  )
}

/** Null as long as nothing is known of a variant that is still to run. */
export function estimateSeconds(
  remaining: readonly PlannedRun[],
  means: Partial<Record<Variant, number>>,
): number | null {
  let total = 0
  for (const { variant } of remaining) {
    const mean = means[variant]
    if (mean === undefined) return null
    total += mean
  }
  return total
}
