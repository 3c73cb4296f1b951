// The whole procedure with its looks, by simulation: how often noise alone makes a pass or a failure, and what is proven.
import { describe, expect, test } from 'vitest'
import { looksAfter } from '../../../src/config/looks.ts'
import { neighbourRatio } from '../../../src/statistics/neighbour-ratio.ts'
import { seededRandom } from '../../../src/statistics/random.ts'
import { normal } from '../../fixtures/noise.ts'
import { COSTS } from './cases.ts'
import {
  AS_RECORDED,
  type BlockNoise,
  correlatedBlocks,
  EARLIER,
  independent,
  LIMIT,
  margin,
  NOISE,
  ofRuns,
  play,
  SLOW_OPTIMIZED_RUNS,
  SPEEDUP,
  shareOf,
} from './experiments.ts'
import { onOneDay } from './floors.ts'

const TRIALS = 3000
const AT_MOST = 0.05 + margin(0.05, TRIALS)
const withoutStop = { stopsWhenFutile: false }

describe.each(Object.entries(NOISE))('with noise %s', (_, noise) => {
  test('a true speedup just under the limit passes in at most 5% over all looks', () => {
    const played = play(LIMIT * (1 - 1e-9), ofRuns(noise), TRIALS, withoutStop)
    expect(shareOf('passed', played)).toBeLessThan(AT_MOST)
  })

  test('a true speedup just over the limit fails in at most 5% over all looks', () => {
    const played = play(LIMIT * (1 + 1e-9), ofRuns(noise), TRIALS, withoutStop)
    expect(shareOf('failed', played)).toBeLessThan(AT_MOST)
  })
})

test.each([[[2, 4, 6]], [[4, 6]], [[2, 8, 12, 16]], [[3, 5]]])(
  'looks after %j blocks err in at most 5% on each side',
  (blocks) => {
    const played = play(LIMIT, independent(0.02), TRIALS, { looks: looksAfter(blocks), ...withoutStop })
    expect(shareOf('passed', played)).toBeLessThan(AT_MOST)
    expect(shareOf('failed', played)).toBeLessThan(AT_MOST)
    expect(shareOf('failed', played)).toBeGreaterThan(0.05 - 2 * margin(0.05, TRIALS))
  },
)

test('a machine with two speeds is not refused after two blocks because both happened to agree', () => {
  const twoModes = (far: number) => ofRuns((random) => 0.002 * normal(random) + (random() < 0.5 ? far : 0))
  const early = (far: number) =>
    play(LIMIT, twoModes(far), TRIALS).filter(({ blocks }) => blocks === 2).length
  expect([0.02, 0.05, 0.1].map(early)).toEqual([0, 0, 0])
})

test('a true 3.2x is proven with 1% of noise, most often at the first look that can pass', () => {
  const played = play(3.2, independent(0.01), TRIALS)
  expect(shareOf('passed', played)).toBeGreaterThan(0.99)
  expect(played.filter(({ blocks }) => blocks === 4).length / TRIALS).toBeGreaterThan(0.5)
})

test('a true 2.8x is refuted with 1% of noise', () => {
  expect(shareOf('failed', play(2.8, independent(0.01), TRIALS))).toBeGreaterThan(0.95)
})

test('a true 1.2x is refused after two blocks in three of four experiments with 2% of noise', () => {
  const played = play(1.2, independent(0.02), TRIALS)
  const blocks = played.map((one) => one.blocks)
  expect(shareOf('failed', played)).toBe(1)
  expect(blocks.filter((count) => count === 2).length / TRIALS).toBeGreaterThan(0.75)
  expect(blocks.reduce((sum, count) => sum + count, 0) / TRIALS).toBeLessThan(2.6)
})

describe('against designs without an early look and without the stop for futility', () => {
  const both = (truth: number, noise: BlockNoise, trials = TRIALS) =>
    [EARLIER, undefined].map((looks) => play(truth, noise, trials, looks ? { looks } : {}))

  test.each([
    [3.11, 0.05],
    [3.2, 0.05],
    [3.1, 0.03],
  ])('a true %dx with runs that scatter by %d passes as often, with fewer launches', (truth, scatter) => {
    const [before, after] = both(truth, independent(scatter))
    if (!before || !after) throw new Error('two designs')
    expect(shareOf('passed', after)).toBeGreaterThanOrEqual(shareOf('passed', before))
    const blocks = (played: typeof before) => played.reduce((sum, one) => sum + one.blocks, 0)
    expect(blocks(after)).toBeLessThan(blocks(before))
  })

  test('the seven cases take at most 85% of the launches', () => {
    const launches = (looks?: typeof EARLIER) =>
      COSTS.flatMap(({ truth, noise, gate = SPEEDUP }) =>
        play(truth, noise, 500, looks ? { looks, gate } : { gate }).map(({ blocks }) => 2 + 2 * blocks),
      ).reduce((sum, count) => sum + count, 0)
    expect(launches() / launches(EARLIER)).toBeLessThan(0.85)
  })

  test('an eager baseline as recorded passes no more often at the limit', () => {
    const [before, after] = both(LIMIT, AS_RECORDED, 20_000)
    expect(shareOf('passed', after ?? [])).toBeLessThanOrEqual(shareOf('passed', before ?? []))
  })
})

test('without the correction for looks the same noise passes more often than 5%', () => {
  const looks = [3, 4, 5, 6, 7].map((blocks) => ({ blocks, pass_level: 0.05, fail_level: 0.05 }))
  const played = play(LIMIT * (1 - 1e-9), independent(0.01), TRIALS, { looks, ...withoutStop })
  expect(shareOf('passed', played)).toBeGreaterThan(0.08)
})

describe('what the interval cannot see passes at the limit in', () => {
  test.each([
    ['8% with an eager baseline as recorded', AS_RECORDED, 0.07, 0.1],
    ['14% with blocks correlated by 0.5', correlatedBlocks(0.5), 0.12, 0.17],
    ['29% with blocks correlated by 0.8', correlatedBlocks(0.8), 0.25, 0.32],
    ['65% with one slow optimized run in ten', SLOW_OPTIMIZED_RUNS, 0.6, 0.7],
  ])('%s', (_, noise, least, most) => {
    const passed = shareOf('passed', play(LIMIT, noise, TRIALS))
    expect(passed).toBeGreaterThan(least)
    expect(passed).toBeLessThan(most)
  })

  test('at most 5% where the machine is noisier on some days', () => {
    const ofDays: BlockNoise = (random, blocks) => ofRuns(onOneDay(random))(random, blocks)
    expect(shareOf('passed', play(LIMIT, ofDays, TRIALS))).toBeLessThan(AT_MOST)
  })
})

test('the simulated eager baseline has the recorded von Neumann ratio of 1.55 from run to run', () => {
  const random = seededRandom(12)
  const ratios = Array.from({ length: TRIALS }, () => neighbourRatio(AS_RECORDED(random, 16)) ?? 0)
  expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / TRIALS).toBeCloseTo(1.55, 1)
})
