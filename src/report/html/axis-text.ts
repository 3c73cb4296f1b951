// How a number of an axis is written, in a table and under the pointer alike.
import { duration, number, percent, seconds } from '../../text/numbers.ts'
import type { Axis } from './chart-spec.ts'

export function axisText({ format, unit }: Axis, value: number | null | undefined): string {
  if (value === null || value === undefined) return ''
  return `${FORMATS[format](value)}${unit}`
}

const FORMATS = {
  seconds,
  duration,
  number: (value: number) => number(value),
  percent: (value: number) => percent(value, 3),
} satisfies Record<Axis['format'], (value: number) => string>
