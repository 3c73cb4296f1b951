// What kind of number a gate judges: a level or a comparison, quality or speed, and in which unit.
import type { Gate } from '../../config/gates/gates.ts'
import { metricNamed } from '../../metrics/families.ts'
import { isHeldOutMetric, isTimeMetric } from '../../metrics/questions.ts'

/** The worst of the optimized runs, which needs neither baseline nor interval. */
export function isLevel({ statistic }: Gate): boolean {
  return statistic === 'maximum' || statistic === 'minimum'
}

export function isQuotient({ statistic }: Gate): boolean {
  return statistic === 'speedup' || statistic === 'ratio'
}

/** Measured on the held-out split at the end of a training. */
export function isHeldOut({ metric }: Gate): boolean {
  return isHeldOutMetric(metric)
}

/** Comes out again from the checkpoint and says how good the model is; the time that an evaluation took does neither. */
export function isHeldOutQuality(gate: Gate): boolean {
  return isHeldOut(gate) && !isTime(gate)
}

/** The lower bound decides. */
export function isMoreBetter({ direction }: Gate): boolean {
  return direction === 'at_least'
}

/** Only the side of its limit says which direction is better; a mistake there would take a worse model for a better one. */
export function hasUncheckedDirection(gate: Gate): boolean {
  return comparesQuality(gate) && metricNamed(gate.metric).better === null
}

/** Taken from a clock, which never gives the same number twice unless it is read too coarsely, or not at all. */
function isTime({ metric }: Gate): boolean {
  return isTimeMetric(metric)
}

/** Compares times of both variants: two blocks can show a large miss. */
export function isSpeed(gate: Gate): boolean {
  return isTime(gate) && isQuotient(gate)
}

/** Differs from run to run by its nature; memory and counts may well be the same in all of them. */
export function mustScatter(gate: Gate): boolean {
  return isTime(gate) || isHeldOut(gate)
}

/** A level has no scatter to estimate; every other statistic of a held-out number has. */
export function comparesQuality(gate: Gate): boolean {
  return !isLevel(gate) && isHeldOut(gate)
}

/** Limits in bytes are written in GB (1e9 bytes), costs in GPU hours times their price; quotients have no unit. */
export function unitOf(gate: Gate): number {
  const { metric, pricePerGpuHour } = gate
  if (isQuotient(gate)) return 1
  if (pricePerGpuHour !== null) return 1 / pricePerGpuHour
  return metricNamed(metric).unit === 'bytes' ? 1e9 : 1
}
