// The whole procedure with its looks, by simulation: how often noise alone makes a pass or a failure, and what is proven.
import { describe, expect, test } from 'vitest'
import { normal } from '../../fixtures/noise.ts'
import { seededRandom } from '../../fixtures/random.ts'
import { blocksOf, type Decision, decide, LIMIT, margin, NOISE, type Noise } from './experiments.ts'

const TRIALS = 10_000

function play(trueRatio: number, noise: Noise): Decision[] {
  const random = seededRandom(1)
  return Array.from({ length: TRIALS }, () => decide(blocksOf(8, trueRatio, noise, random)))
}
const shareOf = (status: Decision['status'], decisions: readonly Decision[]) =>
  decisions.filter((decision) => decision.status === status).length / decisions.length

describe.each(Object.entries(NOISE))('with noise %s', (_, noise) => {
  test('a true speedup just under the limit passes in at most 5% over all looks', () => {
    expect(shareOf('passed', play(LIMIT * (1 - 1e-9), noise))).toBeLessThan(0.05 + margin(0.05, TRIALS))
  })

  test('a true speedup just over the limit fails in at most 5% over all looks', () => {
    expect(shareOf('failed', play(LIMIT * (1 + 1e-9), noise))).toBeLessThan(0.05 + margin(0.05, TRIALS))
  })
})

const onePercent: Noise = (random) => 0.01 * normal(random)

test('a true 3.2x is proven with 1% of noise, most often at the first look', () => {
  const decisions = play(3.2, onePercent)
  expect(shareOf('passed', decisions)).toBeGreaterThan(0.99)
  expect(decisions.filter(({ blocks }) => blocks === 4).length / TRIALS).toBeGreaterThan(0.5)
})

test('a true 2.8x is refuted with 1% of noise', () => {
  expect(shareOf('failed', play(2.8, onePercent))).toBeGreaterThan(0.95)
})

test('without the correction for looks the same noise passes more often than 5%', () => {
  const random = seededRandom(1)
  const looks = [3, 4, 5, 6, 7]
  const passes = Array.from({ length: TRIALS }, () =>
    decide(blocksOf(8, LIMIT * (1 - 1e-9), onePercent, random), looks, 0.95),
  ).filter(({ status }) => status === 'passed').length
  expect(passes / TRIALS).toBeGreaterThan(0.08)
})
