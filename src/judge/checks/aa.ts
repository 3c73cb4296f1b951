// What an A/A found: do two halves of one and the same training differ, and how do its runs scatter?
import { MIN_NOISE_RUNS } from '../../config/mode.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { SECONDS_PER_SAMPLE } from '../../metrics/catalogue.ts'
import { isMeasured } from '../../plan/plan.ts'
import { percent, ratio } from '../../text/numbers.ts'
import { pairBlocks, speedupOf } from '../blocks.ts'
import { type PooledVariance, pooledVariance } from '../noise/noise.ts'
import type { NoiseFloor, NoiseKey } from '../noise/noise-floor.ts'
import { bothAt, type PairedEstimate } from '../paired.ts'
import type { Check } from './check.ts'

/** Of each of both bounds: their interval of 99% leaves 1 out in 1% of A/As on a machine that is fair. */
const CONFIDENCE = 0.995

export interface AaFinding {
  readonly runs: number
  /** Seconds per sample of the first half / of the second, which should be 1. */
  readonly ratio: PairedEstimate | null
  readonly spread: PooledVariance | null
}

export function findAa(runs: readonly RunSummary[]): AaFinding {
  const measured = runs.filter(isMeasured)
  return {
    runs: measured.length,
    ratio: speedupOf(SECONDS_PER_SAMPLE, pairBlocks(measured), bothAt(CONFIDENCE)),
    spread: pooledVariance(measured),
  }
}

export function checkAa({ runs, ratio: found, spread }: AaFinding): Check {
  const name = 'a/a'
  const inconclusive = (detail: string): Check => ({ name, status: 'inconclusive', detail })
  if (runs < MIN_NOISE_RUNS)
    return inconclusive(
      `${runs} runs finished, expected at least ${MIN_NOISE_RUNS}. Continue with --resume, or run the A/A again`,
    )
  if (!found?.bounds || !spread)
    return inconclusive('not every run was timed. Check that the trainer reports step seconds in every run')
  if (spread.variance === 0)
    return inconclusive(
      'the runs of each half took exactly the same time. Check that the trainer measures its step seconds',
    )
  const { lower, upper } = found.bounds
  const interval = `${ratio(found.estimate)} (${ratio(lower)} to ${ratio(upper)}, ${percent(2 * CONFIDENCE - 1)} interval)`
  return lower <= 1 && upper >= 1
    ? {
        name,
        status: 'passed',
        detail: `the baseline against itself: ${interval}; runs scatter by ${percent(Math.sqrt(spread.variance))}`,
      }
    : {
        name,
        status: 'failed',
        detail: `the baseline differs from itself: ${interval} does not contain 1. Find the cause, such as heat, caches or other work on the host`,
      }
}

/** Null unless the check passes. */
export function noiseFloorOf(
  finding: AaFinding,
  key: NoiseKey | null,
  origin: Pick<NoiseFloor, 'measured_at' | 'revision'>,
): NoiseFloor | null {
  const { runs, ratio: found, spread } = finding
  if (key === null || !found?.bounds || !spread || checkAa(finding).status !== 'passed') return null
  return {
    schema_version: 1,
    key,
    ...origin,
    runs,
    degrees_of_freedom: spread.degreesOfFreedom,
    log_standard_deviation: Math.sqrt(spread.variance),
    ratio: { estimate: found.estimate, ...found.bounds, confidence: CONFIDENCE },
  }
}
