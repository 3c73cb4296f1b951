// How the numbers of one gate are written: as its limit is, with as many digits as show on which side of it they are.
import type { Gate } from '../../config/gates/gates.ts'
import { isHeldOut, isQuotient, unitOf } from '../../judge/gates/gate-kind.ts'
import { clears, clearsInUnit } from '../../judge/gates/gate-verdict.ts'
import { metricNamed } from '../../metrics/families.ts'
import type { Unit } from '../../metrics/row.ts'
import {
  bytes,
  cautious,
  exactDigits,
  MOST_DIGITS,
  number,
  type Places,
  percent,
  placesOf,
  ratio,
  rounded,
  seconds,
  tellsApart,
  toPlace,
  withDigits,
} from '../../text/numbers.ts'

/** Of a run, in the unit of the metric. */
export function levelText(gate: Gate, value: number, digits = levelDigits(gate)): string {
  // There is no limit of it in the row, and it is read best so.
  if (metricUnit(gate) === 's/sample' && isQuotient(gate)) return `${seconds(value)}/sample`
  if (metricUnit(gate) === 'count' && Number.isInteger(value)) return String(value)
  if (isBytes(gate)) return bytes(value, digits)
  const ofLevel: Gate = { ...gate, statistic: 'maximum' }
  return withUnit(ofLevel, written(ofLevel, value), digits)
}

/** `digits` are those of the level beside it, where there is one. */
export function limitText(gate: Gate, digits = exactDigits(gate.limit, limitDigits(gate))): string {
  if (metricUnit(gate) === 'count' && !isQuotient(gate)) return String(gate.limit)
  if (isBytes(gate) && !isQuotient(gate)) return bytes(gate.limit * unitOf(gate), digits)
  return withUnit(gate, gate.limit * scaleOf(gate), digits)
}

/** Without its sign, and of a quotient in percent. */
export function sizeText(gate: Gate, size: number): string {
  return isQuotient(gate) ? percent(size) : withUnit(gate, written(gate, size), 3)
}

/**
 * The estimate, on its side of the limit where it decides alone; and each bound on its own, both to one last
 * place, which is no coarser than the interval is wide.
 */
export function comparisonTexts(gate: Gate, { estimate, bounds }: Comparison): ComparisonTexts {
  const exact = exactDigits(gate.limit)
  const digits = bounds === null ? 3 : fewest(exact, (few) => isEnough(gate, bounds, few))
  const deciding =
    gate.evidence === 'point'
      ? fewest(exact, (few) => reads(gate, rounded(written(gate, estimate), few), estimate))
      : 3
  const change = signedText(gate, written(gate, estimate), Math.max(digits, deciding))
  if (bounds === null) return { change, lower: null, upper: null }
  const { lower, upper } = outward(gate, bounds, digits)
  return { change, lower: boundText(gate, lower), upper: boundText(gate, upper) }
}

function isEnough(gate: Gate, bounds: Bounds, digits: number): boolean {
  const { lower, upper, places } = outward(gate, bounds, digits)
  return (
    reads(gate, lower.value, bounds.lower) &&
    reads(gate, upper.value, bounds.upper) &&
    (isPoint(bounds) || tellsApart(places, written(gate, bounds.lower), written(gate, bounds.upper)))
  )
}

/** Blocks that are alike but for the last digits of a double. */
function isPoint({ lower, upper }: Bounds): boolean {
  return upper - lower <= 1e-9 * Math.max(Math.abs(lower), Math.abs(upper))
}

interface Shown {
  readonly value: number
  readonly places: Places
}

function outward(
  gate: Gate,
  bounds: Bounds,
  digits: number,
): { readonly lower: Shown; readonly upper: Shown; readonly places: Places } {
  const [lower, upper] = [written(gate, bounds.lower), written(gate, bounds.upper)]
  const places = placesOf(lower, upper, digits)
  const shown = (value: number, direction: 'down' | 'up') => {
    // A factor is never 0: of one that is small beside the other bound, two digits stay.
    const own = isQuotient(gate) ? withDigits(places, value, 2) : places
    return { value: cautious(value, direction, own), places: own }
  }
  return { lower: shown(lower, 'down'), upper: shown(upper, 'up'), places }
}

function boundText(gate: Gate, { value, places }: Shown): string {
  const text = `${toPlace(Math.abs(value), places)}${unitText(gate)}`
  return isQuotient(gate) ? text : `${value < 0 ? '-' : '+'}${text}`
}

interface Comparison {
  readonly estimate: number
  readonly bounds: Bounds | null
}

interface ComparisonTexts {
  readonly change: string
  readonly lower: string | null
  readonly upper: string | null
}

interface Bounds {
  readonly lower: number
  readonly upper: number
}

/** With which a level shows on which side of its limit it is. */
export function digitsBesideLimit(gate: Gate, value: number): number {
  const least = exactDigits(gate.limit, levelDigits(gate))
  return fewest(least, (digits) => reads(gate, rounded(written(gate, value), digits), value))
}

function fewest(least: number, isEnough: (digits: number) => boolean): number {
  let digits = least
  while (digits < MOST_DIGITS && !isEnough(digits)) digits += 1
  return digits
}

function reads(gate: Gate, shown: number, value: number): boolean {
  return clearsInUnit(gate, shown / scaleOf(gate)) === clears(gate, value)
}

function levelDigits(gate: Gate): number {
  return isHeldOut(gate) ? 4 : limitDigits(gate)
}

function limitDigits(gate: Gate): number {
  return isShare(gate) ? 2 : 3
}

function signedText(gate: Gate, shown: number, digits: number): string {
  if (isQuotient(gate)) return ratio(shown, digits)
  return `${shown < 0 ? '-' : '+'}${withUnit(gate, Math.abs(shown), digits)}`
}

/** The number that is shown: in the unit of the limit, a share in percent. */
function written(gate: Gate, value: number): number {
  return (value / unitOf(gate)) * scaleOf(gate)
}

function scaleOf(gate: Gate): number {
  return isShare(gate) && !isQuotient(gate) ? 100 : 1
}

function withUnit(gate: Gate, shown: number, digits: number): string {
  return Number.isFinite(shown) ? `${number(shown, digits)}${unitText(gate)}` : number(shown)
}

function unitText(gate: Gate): string {
  return isQuotient(gate) ? 'x' : (UNIT_TEXTS[metricUnit(gate)] ?? '')
}

const UNIT_TEXTS: Readonly<Partial<Record<Unit, string>>> = {
  share: '%',
  bytes: ' GB',
  s: ' s',
  's/sample': ' s/sample',
  'J/sample': ' J/sample',
}

function isShare(gate: Gate): boolean {
  return metricUnit(gate) === 'share'
}

function isBytes(gate: Gate): boolean {
  return metricUnit(gate) === 'bytes'
}

function metricUnit({ metric }: Gate): Unit {
  return metricNamed(metric).unit
}
