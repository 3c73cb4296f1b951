// A/A and noise floor by simulation: how often noise alone makes a measurement invalid, and how much more noise is noticed.
import { describe, expect, test } from 'vitest'
import { checkAa, findAa } from '../../../src/judge/checks/aa.ts'
import { compareWithFloors } from '../../../src/judge/noise/noise.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import { aRunSummary } from '../../fixtures/builders.ts'
import { aNoiseFloor } from '../../fixtures/noise-floors.ts'
import { type Random, seededRandom } from '../../fixtures/random.ts'
import { blocksOf, LOOKS, margin, NOISE, type Noise } from './experiments.ts'

const EXPERIMENTS = 1500
const AA_BLOCKS = 6

function runsOf(blocks: number, noise: Noise, random: Random): RunSummary[] {
  return blocksOf(blocks, 1, noise, random).flatMap(({ numerator, denominator }, index) => [
    run('baseline', index + 1, numerator),
    run('optimized', index + 1, denominator),
  ])
}

function run(variant: RunSummary['variant'], block: number, seconds_per_sample: number): RunSummary {
  return aRunSummary({
    variant,
    block,
    metrics: { seconds_per_sample },
  })
}

const share = (holds: () => boolean) =>
  Array.from({ length: EXPERIMENTS }, holds).filter(Boolean).length / EXPERIMENTS

/** Floor and experiment are of one machine; `times`: how much noisier it has become between both. */
function aboveFloor(noise: Noise, looks: readonly number[], random: Random, times = 1): boolean {
  const { spread } = findAa(runsOf(AA_BLOCKS, noise, random))
  const floor = aNoiseFloor({
    log_standard_deviation: Math.sqrt(spread?.variance ?? Number.NaN),
    degrees_of_freedom: spread?.degreesOfFreedom ?? 0,
  })
  const found = { status: 'found', floor } as const
  const runs = runsOf(Math.max(...looks), (from, slot) => times * noise(from, slot), random)
  return looks.some((look) => {
    const seen = runs.filter(({ block }) => (block ?? 0) <= look)
    const compared = compareWithFloors(seen, { baseline: found, optimized: found }, looks.length)
    return compared.status === 'measured' && compared.variants.some(({ status }) => status === 'above')
  })
}

describe.each(Object.entries(NOISE))('noise %s', (name, noise) => {
  test('makes at most 1% of A/As invalid', () => {
    const random = seededRandom(5)
    const invalid = share(() => checkAa(findAa(runsOf(AA_BLOCKS, noise, random))).status === 'failed')
    expect(invalid).toBeLessThan(0.01 + margin(0.01, EXPERIMENTS))
  })

  // An A/A of 12 runs misses a slow run in ten every fourth time, and its floor is then too low.
  const most = name === 'with one slow run in ten' ? 0.05 : 0.01
  test(`puts at most ${100 * most}% of experiments above their own floor, over all looks`, () => {
    const random = seededRandom(6)
    expect(share(() => aboveFloor(noise, LOOKS, random))).toBeLessThan(most + margin(most, EXPERIMENTS))
  })
})

test('five times the noise is noticed in four of five experiments with 4 blocks, and nearly always with 8', () => {
  const noise = NOISE['log-normal']
  if (!noise) throw new Error('no noise')
  const random = seededRandom(7)
  expect(share(() => aboveFloor(noise, [4], random, 5))).toBeGreaterThan(0.78)
  expect(share(() => aboveFloor(noise, [8], random, 5))).toBeGreaterThan(0.93)
})
