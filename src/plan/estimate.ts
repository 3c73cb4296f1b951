// How long the launches that are still to come will take, from those that are done.
import { VARIANTS, type Variant } from '../config/experiment.ts'
import { meanOf } from '../statistics/averages.ts'
import type { PlannedRun } from './plan.ts'

export interface TimedRun {
  readonly run: PlannedRun
  readonly wallSeconds: number
}

/** Warm-up launches fill caches, or are short, and say nothing about the others. */
export function measuredOf(timed: readonly TimedRun[]): TimedRun[] {
  return timed.filter(({ run }) => run.purpose === 'measured')
}

/** Of each variant's measured launches. */
export function meanWallSeconds(timed: readonly TimedRun[]): Partial<Record<Variant, number>> {
  return Object.fromEntries(
    VARIANTS.flatMap((variant) => {
      const measured = measuredOf(timed).filter(({ run }) => run.variant === variant)
      const mean = meanOf(measured.map(({ wallSeconds }) => wallSeconds))
      return measured.length > 0 ? [[variant, mean] as const] : []
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
