// How the runs of a variant scatter, and whether that is more than the noise floor of the machine.
import { VARIANTS, type Variant } from '../../config/experiment.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { isMeasured } from '../../plan/plan.ts'
import { meanOf, medianOf } from '../../statistics/averages.ts'
import { fQuantile } from '../../statistics/f-distribution.ts'
import { percent } from '../../text/numbers.ts'
import type { Check } from '../checks/check.ts'
import type { FloorChoice, NoiseFloor } from './noise-floor.ts'

/** One sided, of the F tests of both variants at all looks together. */
const SIGNIFICANCE = 0.01
/** Of the second test, which only asks whether more than a few runs are behind the first one. */
const CONFIRMED_AT = 0.95
/** Share of a variant's runs that the second test leaves out, rounded up. */
const LEFT_OUT = 0.25

export interface PooledVariance {
  /** Of ln(seconds per sample). */
  readonly variance: number
  readonly degreesOfFreedom: number
}

export interface VariantNoise {
  readonly variant: Variant
  /** Standard deviation of ln(seconds per sample): 0.01 is about 1%. */
  readonly deviation: number
  readonly floor: NoiseFloor
  readonly status: 'within' | 'above'
}

export type NoiseComparison =
  | { readonly status: 'measured'; readonly variants: readonly VariantNoise[] }
  | { readonly status: 'not-measured'; readonly reason: string }

export type Floors = Readonly<Record<Variant, FloorChoice>>

const UNKNOWN: FloorChoice = { status: 'none', reason: 'no noise floor was looked up' }
export const NO_FLOORS: Floors = { baseline: UNKNOWN, optimized: UNKNOWN }

/**
 * F test of two variances, at 1% for both variants and all `looks` together, since the first look that rejects ends
 * the experiment. Each variant is held against the floor of its own training: a faster one may well scatter more.
 * The test takes one slow run for a noisy machine, although that is the interval's affair: so what it finds counts only
 * if the runs nearest to their median still scatter more than the floor. A machine is noisier on some days than on
 * others, and then the interval is wider: so this is a warning.
 */
export function compareWithFloors(
  runs: readonly RunSummary[],
  floors: Floors,
  looks: number,
): NoiseComparison {
  const known = VARIANTS.flatMap((variant) => {
    const [choice, spread] = [floors[variant], pooledVariance(runs, [variant])]
    return choice.status === 'found' && spread ? [{ variant, spread, floor: choice.floor }] : []
  })
  if (known.length === 0) {
    const { baseline } = floors
    const reason = baseline.status === 'none' ? baseline.reason : 'no variant has two measured runs'
    return { status: 'not-measured', reason }
  }
  const variants = known.map(({ variant, spread, floor }) => {
    const isAbove =
      exceeds(spread, floor, 1 - SIGNIFICANCE / (known.length * looks)) &&
      exceeds(varianceOfNearest(runs, variant), floor, CONFIRMED_AT)
    const status = isAbove ? ('above' as const) : ('within' as const)
    return { variant, deviation: Math.sqrt(spread.variance), floor, status }
  })
  return { status: 'measured', variants }
}

function exceeds(spread: PooledVariance | null, floor: NoiseFloor, p: number): boolean {
  if (spread === null) return false
  const critical = fQuantile(p, spread.degreesOfFreedom, floor.degrees_of_freedom)
  return spread.variance / floor.log_standard_deviation ** 2 > critical
}

export function checkNoise(noise: NoiseComparison): Check {
  const name = 'noise floor'
  if (noise.status === 'not-measured') return { name, status: noise.status, detail: noise.reason }
  const detail = noise.variants.map(noiseText).join('; ')
  return noise.variants.every(({ status }) => status === 'within')
    ? { name, status: 'passed', detail }
    : {
        name,
        status: 'warned',
        detail: `${detail}. The interval is as wide as the runs scatter; find what disturbs the machine`,
      }
}

function noiseText({ variant, deviation, floor, status }: VariantNoise): string {
  const measured = `${percent(floor.log_standard_deviation)} (${floor.measured_at.slice(0, 10)})`
  const text = `${variant} runs scatter by ${percent(deviation)}`
  return status === 'above'
    ? `${text}, which is significantly more (F test at 1%) than the noise floor of this machine: ${measured}`
    : `${text}; the noise floor of this machine is ${measured}`
}

/** Pooled variance of ln(seconds per sample) around each variant's own mean; null without two runs of one. */
export function pooledVariance(
  runs: readonly RunSummary[],
  variants: readonly Variant[] = VARIANTS,
): PooledVariance | null {
  let squares = 0
  let degreesOfFreedom = 0
  for (const variant of variants) {
    const logs = logsOf(runs, variant)
    squares += squaresOf(logs)
    degreesOfFreedom += Math.max(0, logs.length - 1)
  }
  return degreesOfFreedom > 0 ? { variance: squares / degreesOfFreedom, degreesOfFreedom } : null
}

/** Null without two runs that are left. */
function varianceOfNearest(runs: readonly RunSummary[], variant: Variant): PooledVariance | null {
  const logs = logsOf(runs, variant).sort((a, b) => a - b)
  const middle = medianOf(logs)
  const nearest = logs
    .toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle))
    .slice(0, logs.length - Math.ceil(LEFT_OUT * logs.length))
  const degreesOfFreedom = nearest.length - 1
  return degreesOfFreedom > 0 ? { variance: squaresOf(nearest) / degreesOfFreedom, degreesOfFreedom } : null
}

function logsOf(runs: readonly RunSummary[], variant: Variant): number[] {
  return runs
    .filter((run) => run.variant === variant && isMeasured(run))
    .flatMap(({ metrics }) => metrics[SECONDS_PER_SAMPLE] ?? [])
    .map(Math.log)
}

/** Around their mean; counted from the first on, so that equal numbers scatter by exactly nothing. */
function squaresOf(logs: readonly number[]): number {
  const shifted = logs.map((value) => value - (logs[0] ?? Number.NaN))
  const mean = meanOf(shifted)
  return shifted.reduce((total, value) => total + (value - mean) ** 2, 0)
}
