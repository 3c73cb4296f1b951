// How the numbers of one gate are written: as its limit is, with as many digits as show on which side of it they are.
import type { Gate } from '../config/gates.ts'
import { isHeldOut, isLevel, unitOf } from '../judge/gate-kind.ts'
import { clears, clearsInUnit } from '../judge/gate-verdict.ts'
import {
  bytes,
  cautious,
  exactDigits,
  MOST_DIGITS,
  number,
  percent,
  ratio,
  rounded,
  seconds,
} from './format.ts'

const SECONDS: readonly string[] = ['total_seconds', 'time_to_quality_seconds']
const COUNTS: readonly string[] = ['allocation_retries']
const SHARES: readonly string[] = ['data_wait_share', 'gpu_utilization']

/** Of a run, in the unit of the metric. */
export function levelText(gate: Gate, value: number, digits = levelDigits(gate)): string {
  // It has no limit beside it, and is read best so.
  if (gate.metric === 'seconds_per_sample' && !isLevel(gate)) return `${seconds(value)}/sample`
  if (COUNTS.includes(gate.metric)) return String(value)
  if (isBytes(gate)) return bytes(value, digits)
  const ofLevel: Gate = { ...gate, statistic: 'maximum' }
  return withUnit(ofLevel, written(ofLevel, value), digits)
}

/** `digits` are those of the level beside it, where there is one. */
export function limitText(gate: Gate, digits = exactDigits(gate.limit, limitDigits(gate))): string {
  if (COUNTS.includes(gate.metric)) return String(gate.limit)
  if (isBytes(gate) && !isQuotient(gate)) return bytes(gate.limit * unitOf(gate), digits)
  return withUnit(gate, gate.limit * scaleOf(gate), digits)
}

/** What two variants differ by, or their quotient. */
export function changeText(gate: Gate, estimate: number): string {
  return signedText(gate, written(gate, estimate), 3)
}

/** Without its sign, and of a quotient in percent. */
export function sizeText(gate: Gate, size: number): string {
  return isQuotient(gate) ? percent(size) : withUnit(gate, written(gate, size), 3)
}

/** Each on its side of the limit. */
export function boundTexts(gate: Gate, { lower, upper }: Bounds): { lower: string; upper: string } {
  const shown = (digits: number) => ({
    lower: cautious(written(gate, lower), 'down', digits),
    upper: cautious(written(gate, upper), 'up', digits),
  })
  const digits = fewest(exactDigits(gate.limit), (few) => {
    const bounds = shown(few)
    return reads(gate, bounds.lower, lower) && reads(gate, bounds.upper, upper)
  })
  const bounds = shown(digits)
  return {
    lower: signedText(gate, bounds.lower, digits),
    upper: signedText(gate, bounds.upper, digits),
  }
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
  if (isQuotient(gate)) return 'x'
  if (isShare(gate)) return '%'
  if (isBytes(gate)) return ' GB'
  if (SECONDS.includes(gate.metric)) return ' s'
  return UNITS[gate.metric] ?? ''
}

const UNITS: Readonly<Record<string, string>> = {
  seconds_per_sample: ' s/sample',
  energy_joules_per_sample: ' J/sample',
}

function isQuotient({ statistic }: Gate): boolean {
  return statistic === 'speedup' || statistic === 'ratio'
}

function isShare({ metric }: Gate): boolean {
  return SHARES.includes(metric)
}

function isBytes({ metric }: Gate): boolean {
  return metric.endsWith('_bytes')
}
