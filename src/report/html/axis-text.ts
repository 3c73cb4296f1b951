// How a number of an axis is written, in a table and under the pointer alike.
import { duration, exactPercent, number, percent, plainNumber, seconds } from '../../text/numbers.ts'
import type { Axis } from './chart-spec.ts'

export function axisText({ format, unit }: Axis, value: number | null | undefined): string {
  if (value === null || value === undefined) return ''
  return `${FORMATS[format](value)}${unit}`
}

/** Beside a grid line, whose value is round: the unit stands in the caption. */
export function tickText({ format }: Axis, value: number): string {
  if (format === 'number') return plainNumber(value)
  return format === 'percent' ? exactPercent(value) : FORMATS[format](value)
}

const FORMATS = {
  seconds,
  duration,
  number: (value: number) => number(value),
  percent: (value: number) => percent(value, 3),
} satisfies Record<Axis['format'], (value: number) => string>
