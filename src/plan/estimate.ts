// How long the launches that are still to come will take, from those that are done.
import { VARIANTS, type Variant } from '../config/experiment.ts'
import { meanOf } from '../statistics/averages.ts'
import { isMeasured, type PlannedRun } from './plan.ts'

/** How long each finished launch took. */
export type WallSeconds = ReadonlyMap<PlannedRun, number>

/** Of each variant. Warm-up launches fill caches, or are short, and say nothing about the others. */
export function meanWallSeconds(finished: WallSeconds): Partial<Record<Variant, number>> {
  return Object.fromEntries(
    VARIANTS.flatMap((variant) => {
      const seconds = [...finished].flatMap(([run, wallSeconds]) =>
        isMeasured(run) && run.variant === variant ? [wallSeconds] : [],
      )
      return seconds.length > 0 ? [[variant, meanOf(seconds)] as const] : []
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
