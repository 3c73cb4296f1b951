// Several runs over one axis -> a line for the eye: the middle of the runs, and how far they spread around it.
import { VARIANTS, type Variant } from '../../config/experiment.ts'
import { meanOf } from '../../statistics/averages.ts'

/** One number for each place of the axis; null where there is none. */
export type Line = readonly (number | null)[]

/** What two runs or steps of one variant differ by lies between `low` and `high`. */
export interface Spread {
  readonly middle: Line
  readonly low: Line
  readonly high: Line
}

export interface SpreadCurve {
  /** Samples seen, ascending. */
  readonly samples: readonly number[]
  readonly values: Readonly<Record<Variant, Spread>>
  /** Of which `values` are. */
  readonly runs: Readonly<Record<Variant, number>>
}

/** Mean, least and most at each place, where every line has a number. */
export function spreadOf(lines: readonly Line[], places: number): Spread {
  const at = Array.from({ length: places }, (_, place) => {
    const values = lines.flatMap((line) => {
      const value = line[place] ?? null
      return value !== null && Number.isFinite(value) ? [value] : []
    })
    return values.length === lines.length && values.length > 0 ? values : null
  })
  return {
    middle: at.map((values) => values && meanOf(values)),
    low: at.map((values) => values && Math.min(...values)),
    high: at.map((values) => values && Math.max(...values)),
  }
}

/** Null where neither variant has a number. */
export function curveOf(
  samples: readonly number[],
  spread: (variant: Variant) => Spread,
  runs: (variant: Variant) => number,
): SpreadCurve | null {
  const values = { baseline: spread('baseline'), optimized: spread('optimized') }
  const isEmpty = VARIANTS.every((variant) => values[variant].middle.every((value) => value === null))
  if (isEmpty) return null
  return { samples, values, runs: { baseline: runs('baseline'), optimized: runs('optimized') } }
}

/** `count` ends of equally long parts from `from` to `to`. */
export function partEnds(from: number, to: number, count: number): number[] {
  return Array.from({ length: count }, (_, part) => from + ((to - from) * (part + 1)) / count)
}
