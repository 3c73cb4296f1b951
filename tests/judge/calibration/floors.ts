// Experiments on a machine with a stored noise floor: how often their runs scatter more than it.
import { findAa } from '../../../src/judge/checks/aa.ts'
import { compareWithFloors, NO_FLOORS } from '../../../src/judge/noise/noise.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import type { Random } from '../../../src/statistics/random.ts'
import { aRunSummary } from '../../fixtures/builders.ts'
import { normal } from '../../fixtures/noise.ts'
import { aNoiseFloor } from '../../fixtures/noise-floors.ts'
import { blocksOf, type Noise } from './experiments.ts'

export const AA_BLOCKS = 6

export function runsOf(blocks: number, noise: Noise, random: Random): RunSummary[] {
  return blocksOf(blocks, 1, noise, random).flatMap(({ numerator, denominator }, index) => [
    runAt('baseline', index + 1, numerator),
    runAt('optimized', index + 1, denominator),
  ])
}

function runAt(variant: RunSummary['variant'], block: number, seconds_per_sample: number): RunSummary {
  return aRunSummary({ variant, block, metrics: { seconds_per_sample } })
}

/** Floor and experiment are of one machine; both variants have one, or the baseline alone. */
export function aboveFloor(
  { before, now, ofBoth = true }: { readonly before: Noise; readonly now: Noise; readonly ofBoth?: boolean },
  looks: readonly number[],
  random: Random,
): boolean {
  const { spread } = findAa(runsOf(AA_BLOCKS, before, random))
  const floor = aNoiseFloor({
    log_standard_deviation: Math.sqrt(spread?.variance ?? Number.NaN),
    degrees_of_freedom: spread?.degreesOfFreedom ?? 0,
  })
  const found = { status: 'found', floor } as const
  const floors = { baseline: found, optimized: ofBoth ? found : NO_FLOORS.optimized }
  const runs = runsOf(Math.max(...looks), now, random)
  return looks.some((look) => {
    const seen = runs.filter(({ block }) => (block ?? 0) <= look)
    const compared = compareWithFloors(seen, floors, looks.length)
    return compared.status === 'measured' && compared.variants.some(({ status }) => status === 'above')
  })
}

/** Scatter of about 1%, on some days half of it and on some twice; one day for all runs of an experiment. */
export function onOneDay(random: Random): Noise {
  const scatter = 0.01 * Math.exp(0.5 * normal(random))
  return (of) => scatter * normal(of)
}
