// The noise floor of a machine: how runs of one and the same training scatter on it, and whether these runs scatter more.
import { z } from 'zod'
import { VARIANTS } from '../config/experiment.ts'
import type { RunSummary } from '../measure/summary.ts'
import { fQuantile } from '../statistics/f-distribution.ts'
import type { Check } from './validity.ts'

/** Stored from `mode: aa` for one machine and one training; `runs` of one config under two names. */
export const noiseFloorSchema = z.object({
  machine: z.string().describe('Device names, as the trainings report them.'),
  config_hash: z.string(),
  runs: z.int().min(10),
  degrees_of_freedom: z.int().min(8),
  /** Standard deviation of ln(seconds per sample) between runs: 0.01 is about 1%. */
  log_standard_deviation: z.number().positive(),
})

export type NoiseFloor = z.infer<typeof noiseFloorSchema>

export const MIN_FLOOR_RUNS = 10

/** One sided, of the F test. */
const SIGNIFICANCE = 0.01

interface Spread {
  readonly variance: number
  readonly degreesOfFreedom: number
}

/** Null from fewer than 10 runs, or from runs without any scatter. */
export function noiseFloorOf(runs: readonly RunSummary[], configHash: string): NoiseFloor | null {
  const measured = runs.filter(({ block }) => block !== null)
  const spread = spreadWithinVariants(measured)
  if (measured.length < MIN_FLOOR_RUNS || spread === null || spread.variance === 0) return null
  return {
    machine: machineOf(measured),
    config_hash: configHash,
    runs: measured.length,
    degrees_of_freedom: spread.degreesOfFreedom,
    log_standard_deviation: Math.sqrt(spread.variance),
  }
}

export function machineOf(runs: readonly RunSummary[]): string {
  return runs[0]?.deviceNames.join(', ') ?? ''
}

export type NoiseComparison =
  | { readonly state: 'within' | 'above'; readonly deviation: number; readonly floor: number }
  | { readonly state: 'not measured' }

/** Do the runs of a variant scatter more than the machine does by itself? F test of two variances at 1%. */
export function compareWithFloor(runs: readonly RunSummary[], floor: NoiseFloor | null): NoiseComparison {
  const spread = spreadWithinVariants(runs.filter(({ block }) => block !== null))
  if (floor === null || spread === null) return { state: 'not measured' }
  const quotient = spread.variance / floor.log_standard_deviation ** 2
  const critical = fQuantile(1 - SIGNIFICANCE, spread.degreesOfFreedom, floor.degrees_of_freedom)
  return {
    state: quotient > critical ? 'above' : 'within',
    deviation: Math.sqrt(spread.variance),
    floor: floor.log_standard_deviation,
  }
}

export function checkNoise(noise: NoiseComparison): Check {
  const name = 'noise floor'
  if (noise.state === 'not measured')
    return { name, state: noise.state, detail: 'none is stored for this machine and training' }
  return noise.state === 'within'
    ? { name, state: 'passed', detail: 'runs of a variant scatter no more than this machine does by itself' }
    : {
        name,
        state: 'failed',
        detail:
          'runs of a variant scatter more than this machine does by itself (F test at 1%); find what disturbs it',
      }
}

/** Pooled variance of ln(seconds per sample) around each variant's own mean. */
function spreadWithinVariants(runs: readonly RunSummary[]): Spread | null {
  let squares = 0
  let degreesOfFreedom = 0
  for (const variant of VARIANTS) {
    const logs = runs
      .filter((run) => run.variant === variant)
      .flatMap(({ secondsPerSample }) => (secondsPerSample === null ? [] : Math.log(secondsPerSample)))
    const mean = logs.reduce((total, value) => total + value, 0) / logs.length
    squares += logs.reduce((total, value) => total + (value - mean) ** 2, 0)
    degreesOfFreedom += Math.max(0, logs.length - 1)
  }
  return degreesOfFreedom > 0 ? { variance: squares / degreesOfFreedom, degreesOfFreedom } : null
}
