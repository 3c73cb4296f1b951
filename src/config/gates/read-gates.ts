// Gates as an experiment names them -> typed gates; every rule about a single gate.
import { ConfigError } from '../../errors.ts'
import { metricNamed } from '../../metrics/families.ts'
import type { Statistic } from '../../metrics/row.ts'
import { checkDirection } from './gate-direction.ts'
import { type Gate, type GatesFile, KNOWN_GATES, type KnownGate } from './gates.ts'

type GateEntry = GatesFile[string]

/** Throws a ConfigError for a gate that is unknown, has no or several limits, or could never be decided. */
export function readGates(file: GatesFile, pricePerGpuHour: number | null, source: string): Gate[] {
  if (Object.keys(file).length === 0) {
    throw new ConfigError(
      `${source}: gates: got {}, expected at least one gate. Leave gates out for the default gates, or give them severity: info`,
    )
  }
  if (Object.values(file).every(({ if_reported: isOnlyThen }) => isOnlyThen)) {
    throw new ConfigError(
      `${source}: gates: got only gates with if_reported, so there may be none to pass. Leave if_reported out of one`,
    )
  }
  return Object.entries(file).map(([name, entry]) => ({
    ...readGate(name, entry, `${source}: gates.${name}`),
    pricePerGpuHour: knownGate(name)?.isPriced ? priceOf(pricePerGpuHour, `${source}: gates.${name}`) : null,
  }))
}

function readGate(name: string, entry: GateEntry, where: string): Omit<Gate, 'pricePerGpuHour'> {
  const { metric, statistic } = comparisonOf(name, entry, where)
  const { direction, limit } = limitOf(entry, where)
  checkDirection({ metric, statistic, direction }, where)
  checkLimit(statistic, direction, limit, where)
  checkGigabytes(metric, direction, limit, where)
  checkShare(metric, statistic, direction, limit, where)
  checkSeverity(metric, entry, where)
  const { severity, evidence, if_reported: ifReported = false } = entry
  return { name, metric, statistic, direction, limit, severity, evidence, ifReported }
}

function checkLimit(statistic: Statistic, direction: Gate['direction'], limit: number, where: string): void {
  // Nothing of something is a fair limit of a level: no retry at all.
  if (limit === 0 && statistic === 'maximum' && direction === 'at_most') return
  const isMargin = statistic === 'difference'
  const isNegative = isMargin && direction === 'at_least'
  if (isNegative ? limit < 0 : limit > 0) return
  const expected = `a number ${isNegative ? 'below 0, such as -0.01' : 'above 0'}`
  const reason = isMargin ? ': with no margin, equal models fail half of the time' : ''
  throw new ConfigError(`${where}.${direction}: got ${limit}, expected ${expected}${reason}`)
}

/** What no GPU has is no limit: it would pass whatever is measured. */
function checkGigabytes(metric: string, direction: Gate['direction'], limit: number, where: string): void {
  if (metricNamed(metric).unit === 'bytes' && limit >= MOST_GB)
    throw new ConfigError(
      `${where}.${direction}: got ${limit}, expected a size in GB such as 50, not in bytes`,
    )
}

const MOST_GB = 10_000

/** Nor is more than all of it. */
function checkShare(
  metric: string,
  statistic: Statistic,
  direction: Gate['direction'],
  limit: number,
  where: string,
): void {
  const isQuotient = statistic === 'speedup' || statistic === 'ratio'
  if (!isQuotient && metricNamed(metric).unit === 'share' && Math.abs(limit) > 1)
    throw new ConfigError(`${where}.${direction}: got ${limit}, expected a share, such as 0.05 for 5%`)
}

function checkSeverity(metric: string, { severity }: GateEntry, where: string): void {
  const { neverRequired } = metricNamed(metric)
  if (neverRequired === undefined || severity !== 'required') return
  throw new ConfigError(`${where}.severity: got required, expected warn or info: ${neverRequired}`)
}

function priceOf(pricePerGpuHour: number | null, where: string): number {
  if (pricePerGpuHour !== null) return pricePerGpuHour
  throw new ConfigError(
    `${where}: the price of one GPU for an hour is missing. Set launch.price_per_gpu_hour or the input price-per-gpu-hour`,
  )
}

function comparisonOf(name: string, entry: GateEntry, where: string): Pick<Gate, 'metric' | 'statistic'> {
  const known = knownGate(name)
  if (known && (entry.metric !== undefined || entry.statistic !== undefined)) {
    throw new ConfigError(
      `${where}: got a metric or statistic, but the built-in gate ${name} has its own. Leave both out, or choose another name`,
    )
  }
  if (known) return { metric: known.metric, statistic: known.statistic }
  if (entry.metric === undefined || entry.statistic === undefined) {
    throw new ConfigError(
      `${where}: unknown gate; use one of ${KNOWN_GATES.map((gate) => gate.name).join(', ')}, or give it a metric and a statistic`,
    )
  }
  return { metric: entry.metric, statistic: entry.statistic }
}

function knownGate(name: string): KnownGate | undefined {
  return KNOWN_GATES.find((gate) => gate.name === name)
}

function limitOf(entry: GateEntry, where: string): Pick<Gate, 'direction' | 'limit'> {
  const limits = (['at_least', 'at_most', 'below'] as const).flatMap((direction) => {
    const limit = entry[direction]
    return limit === undefined ? [] : [{ direction, limit }]
  })
  const [only] = limits
  if (only === undefined || limits.length > 1) {
    throw new ConfigError(
      `${where}: got ${limits.length} limits, expected exactly one of at_least, at_most, below`,
    )
  }
  return only
}
