// The one place where numbers are rounded. Everything before it computes with full precision.

const NOT_MEASURED = 'not measured'

/** At least `significant` digits, in exponent form only below 1e-4 and from 1e6. */
export function number(value: number, significant = 4): string {
  if (!Number.isFinite(value)) return NOT_MEASURED
  const size = sizeOf(value, significant)
  if (size === 0) return '0'
  if (needsExponent(size)) return value.toExponential(significant - 1)
  return value.toFixed(Math.max(0, significant - 1 - Math.floor(Math.log10(size))))
}

/** 3.12x, 12.3x, 0.970x. */
export function ratio(value: number, significant = 3): string {
  return withUnit(value, 'x', significant)
}

/** More are of the last bits of a double. */
export const MOST_DIGITS = 15

/** As few significant digits as show the value as it is. */
export function exactDigits(value: number, least = 3): number {
  let digits = least
  while (digits < MOST_DIGITS && Number(value.toPrecision(digits)) !== value) digits += 1
  return digits
}

/** How two bounds are written beside each other: to one last place, both with an exponent or both without. */
export interface Places {
  /** -2 is hundredths. */
  readonly last: number
  readonly hasExponent: boolean
}

/** As many digits for the larger bound, the same decimals for the other one. */
export function placesOf(one: number, other: number, significant: number): Places {
  const largest = Math.max(Math.abs(one), Math.abs(other))
  return {
    last: largest === 0 ? 0 : Math.floor(Math.log10(largest)) - significant + 1,
    hasExponent: needsExponent(sizeOf(largest, significant)),
  }
}

/** The same places, or so many more that the value has that many significant digits. */
export function withDigits(places: Places, value: number, significant: number): Places {
  return { ...places, last: Math.min(places.last, placesOf(value, value, significant).last) }
}

/** Is one in the last place less than what lies between the bounds? */
export function tellsApart({ last }: Places, lower: number, upper: number): boolean {
  return 10 ** last <= upper - lower
}

/** Moves a bound to its last place away from its limit, so that it never reads better than it is. */
export function cautious(value: number, direction: 'down' | 'up', { last }: Places): number {
  // By a power of ten above 1, which is a whole number: 57 / 100 is 0.57, and 57 * 0.01 is not.
  const scale = 10 ** Math.abs(last)
  const steps = last < 0 ? value * scale : value / scale
  // What is already short stays: 1.15 * 100 is 114.99999999999999.
  if (!Number.isFinite(steps) || Math.abs(steps - Math.round(steps)) < 1e-9) return value
  const whole = direction === 'down' ? Math.floor(steps) : Math.ceil(steps)
  return last < 0 ? whole / scale : whole * scale
}

/** A value that `cautious` gave. */
export function toPlace(value: number, { last, hasExponent }: Places): string {
  if (!Number.isFinite(value)) return NOT_MEASURED
  if (!hasExponent) return value.toFixed(Math.max(0, -last))
  if (value === 0) return '0'
  return value.toExponential(Math.max(0, Math.floor(Math.log10(Math.abs(value))) - last))
}

/** Without zeros at its end: 0.5, 1500. */
export function shortNumber(value: number, significant: number): string {
  return String(rounded(value, significant))
}

/** For Mermaid, which reads no exponents. */
export function plainNumber(value: number): string {
  const text = shortNumber(value, 4)
  return text.includes('e') ? value.toFixed(12) : text
}

export function signed(value: number, significant = 3): string {
  if (!Number.isFinite(value)) return NOT_MEASURED
  return `${value < 0 ? '-' : '+'}${number(Math.abs(value), significant)}`
}

/** 1.27 s, 12.3 ms, 850 us. */
export function seconds(value: number): string {
  return secondsWith(value, 3)
}

export function secondsWith(value: number, significant: number): string {
  const size = sizeOf(value, significant)
  if (size > 0 && size < 1e-3) return withUnit(value * 1e6, ' us', significant)
  return size > 0 && size < 1 ? withUnit(value * 1e3, ' ms', significant) : withUnit(value, ' s', significant)
}

/** 45 s, 3 min 20 s, 1 h 05 min. */
export function duration(value: number): string {
  if (!Number.isFinite(value)) return NOT_MEASURED
  const whole = Math.max(0, Math.round(value))
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`
}

/** Memory limits are written in GB; GiB is what tools print: 50 GB = 46.6 GiB. */
export function bytes(value: number, significant = 3): string {
  if (!Number.isFinite(value)) return NOT_MEASURED
  return `${number(value / 1e9, significant)} GB (${number(value / 2 ** 30, significant)} GiB)`
}

/** $12.35, rounded up: a limit of what something costs never reads lower than it is. */
export function dollars(amount: number): string {
  return Number.isFinite(amount) ? `$${(Math.ceil(amount * 100 - 1e-6) / 100).toFixed(2)}` : NOT_MEASURED
}

export function percent(share: number, significant = 2): string {
  return withUnit(share * 100, '%', significant)
}

/** As it was written, without the last digits, which a difference of two doubles makes up. */
export function exactPercent(share: number): string {
  return `${Number((share * 100).toFixed(12))}%`
}

/** 95%, 97.5%, 98.3%: in two digits, two looks and three would read alike. */
export function confidence(share: number): string {
  return `${Number((share * 100).toFixed(1))}%`
}

/** As it will be read: 999.96 is 1000 in four digits. */
export function rounded(value: number, significant: number): number {
  return Number(value.toPrecision(significant))
}

function needsExponent(size: number): boolean {
  return size > 0 && (size < 1e-4 || size >= 1e6)
}

function sizeOf(value: number, significant: number): number {
  return Math.abs(rounded(value, significant))
}

function withUnit(value: number, unit: string, significant = 3): string {
  return Number.isFinite(value) ? `${number(value, significant)}${unit}` : NOT_MEASURED
}
