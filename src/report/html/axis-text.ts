// How a number of an axis is written, in a table and under the pointer alike.
import {
  duration,
  exactPercent,
  number,
  percent,
  seconds,
  secondsWith,
  shortNumber,
} from '../../text/numbers.ts'
import type { Axis } from './chart-spec.ts'

export function axisText({ format, unit }: Axis, value: number | null | undefined): string {
  if (value === null || value === undefined) return ''
  return `${FORMATS[format](value)}${unit}`
}

const MOST_TICK_DIGITS = 8

/** Beside grid lines, in as many digits as tell them apart; the unit stands in the caption. */
export function tickTexts(axis: Axis, values: readonly number[]): string[] {
  const written = (digits: number) => values.map((value) => tickText(axis, value, digits))
  let digits = 3
  while (digits < MOST_TICK_DIGITS && new Set(written(digits)).size < values.length) digits += 1
  return written(digits)
}

function tickText({ format }: Axis, value: number, digits: number): string {
  if (format === 'number') return shortNumber(value, digits)
  if (format === 'percent') return exactPercent(value)
  return format === 'seconds' ? secondsWith(value, digits) : FORMATS[format](value)
}

const FORMATS = {
  seconds,
  duration,
  number: (value: number) => number(value),
  percent: (value: number) => percent(value, 3),
} satisfies Record<Axis['format'], (value: number) => string>
