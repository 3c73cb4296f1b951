// The judge by simulation: how often noise alone turns a speedup just under the limit into a pass.
import { describe, expect, test } from 'vitest'
import { judgeGate } from '../../src/judge/gate-verdict.ts'
import { pairedRatio } from '../../src/judge/paired.ts'
import { aGate } from '../fixtures/builders.ts'

const TRIALS = 3000
const BLOCKS = 4
const LIMIT = 3

/** Mulberry32 (Tommy Ettinger, public domain): uniform in [0, 1), the same on every machine. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

type Random = () => number
const normal = (random: Random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

/** Logarithm of what a run takes longer than it should; `slot` is its place in the order of the runs. */
const NOISE: Record<string, (random: Random, slot: number) => number> = {
  'log-normal': (random) => 0.02 * normal(random),
  'log-normal with a drift of 1% a run': (random, slot) => 0.003 * normal(random) + 0.01 * slot,
  'with one slow run in ten': (random) => 0.005 * normal(random) + (random() < 0.1 ? 0.2 : 0),
  'with two modes': (random) => 0.002 * normal(random) + (random() < 0.5 ? 0.02 : 0),
}

/** One experiment in balanced order. */
function simulate(trueRatio: number, noise: (random: Random, slot: number) => number, random: Random) {
  const pairs = Array.from({ length: BLOCKS }, (_, block) => {
    const [first, second] = [noise(random, 2 * block), noise(random, 2 * block + 1)]
    const [baseline, optimized] = block % 2 === 0 ? [first, second] : [second, first]
    return { numerator: trueRatio * Math.exp(baseline), denominator: Math.exp(optimized) }
  })
  return judgeGate({
    gate: aGate({ limit: LIMIT }),
    baseline: trueRatio,
    optimized: 1,
    evidence: pairedRatio(pairs),
  })
}

function shareOf(state: string, trueRatio: number, noise: (random: Random, slot: number) => number): number {
  const random = randomNumbers(1)
  const verdicts = Array.from({ length: TRIALS }, () => simulate(trueRatio, noise, random))
  return verdicts.filter((verdict) => verdict.state === state).length / TRIALS
}

// Three standard errors of a share of 5% over the trials.
const MARGIN = 3 * Math.sqrt((0.05 * 0.95) / TRIALS)

describe.each(Object.entries(NOISE))('with noise %s', (_, noise) => {
  test('a true speedup just under the limit passes in at most 5%', () => {
    expect(shareOf('passed', LIMIT * (1 - 1e-9), noise)).toBeLessThan(0.05 + MARGIN)
  })

  test('a true speedup just over the limit fails in at most 5%', () => {
    expect(shareOf('failed', LIMIT * (1 + 1e-9), noise)).toBeLessThan(0.05 + MARGIN)
  })
})

test('with log-normal noise the rate is the nominal one: the gate is not stricter than it says', () => {
  expect(shareOf('passed', LIMIT * (1 - 1e-9), (random) => 0.02 * normal(random))).toBeGreaterThan(
    0.05 - MARGIN,
  )
})

test('a true 3.2x is proven in most experiments with 1% of noise', () => {
  expect(shareOf('passed', 3.2, (random) => 0.01 * normal(random))).toBeGreaterThan(0.95)
})
