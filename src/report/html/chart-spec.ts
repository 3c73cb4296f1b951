// What the page's script draws a chart from: plain numbers and short names, handed over as JSON.
import type { Variant } from '../../config/experiment.ts'
import type { Line } from '../../measure/traces/spread.ts'
import { rounded } from '../../text/numbers.ts'

export type Tone = Variant | 'machine'

export interface Axis {
  readonly label: string
  readonly format: 'seconds' | 'duration' | 'number' | 'percent'
  /** Behind each number, such as " MHz". */
  readonly unit: string
}

export interface ChartSeries {
  readonly name: string
  readonly tone: Tone
  readonly middle: Line
  /** Null where single values have no spread. */
  readonly spread: { readonly low: Line; readonly high: Line } | null
}

/** A stretch of the axis with a tint of its own, such as a launch. */
export interface Stretch {
  readonly from: number
  readonly to: number
  readonly tone: Variant
}

export interface ChartSpec {
  readonly id: string
  readonly kind: 'lines' | 'bars'
  /** What it shows, for a reader who cannot see it. */
  readonly title: string
  readonly x: Axis
  readonly y: Axis
  readonly scale: 'linear' | 'from-zero' | 'log'
  /** Ascending. */
  readonly places: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly stretches: readonly Stretch[]
  /** Places to be marked as disturbed. */
  readonly marks: readonly number[]
  /** Charts with the same word share their pointer. */
  readonly group: string | null
  readonly size: 'large' | 'small'
}

/** More are not told apart on a screen. */
const DIGITS = 5

export function shortLine(line: Line): (number | null)[] {
  return line.map((value) => (value === null || !Number.isFinite(value) ? null : rounded(value, DIGITS)))
}

/** With as many digits as can be seen. */
export function shortSpec(spec: ChartSpec): ChartSpec {
  return {
    ...spec,
    places: spec.places.map((value) => rounded(value, 9)),
    series: spec.series.map((one) => ({
      ...one,
      middle: shortLine(one.middle),
      spread: one.spread && { low: shortLine(one.spread.low), high: shortLine(one.spread.high) },
    })),
    stretches: spec.stretches.map((one) => ({
      ...one,
      from: rounded(one.from, DIGITS),
      to: rounded(one.to, DIGITS),
    })),
    marks: spec.marks.map((place) => rounded(place, DIGITS)),
  }
}
