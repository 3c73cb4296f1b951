// Blocks that are like their neighbours are told, since the interval counts them as independent.
import { describe, expect, test } from 'vitest'
import { compare } from '../../../src/judge/compare.ts'
import { judgeGate } from '../../../src/judge/gates/gate-verdict.ts'
import { correlatedBlockWarnings } from '../../../src/judge/warnings/evidence/correlated-blocks.ts'
import { neighbourRatioCdf } from '../../../src/statistics/neighbour-ratio.ts'
import { seededRandom } from '../../../src/statistics/random.ts'
import { aGate, blocksOf } from '../../fixtures/builders.ts'
import { normal } from '../../fixtures/noise.ts'
import { type BlockNoise, correlatedBlocks, independent } from '../calibration/experiments.ts'

function warningsOf(values: readonly number[], gate = aGate()) {
  const pairs = values.map((value) => ({ baseline: 0.005 * Math.exp(value), optimized: 0.001 }))
  const varied = pairs.map((pair, index) => ({
    ...pair,
    optimized: pair.optimized * (1 + 1e-6 * (index % 2)),
  }))
  const gates = compare(blocksOf('seconds_per_sample', varied), [gate]).gates.map((one) => judgeGate(one))
  return correlatedBlockWarnings({ gates })
}

const RISING = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]

test('blocks that follow each other are told, for a gate that they decide', () => {
  expect(warningsOf(RISING)).toEqual([
    expect.stringMatching(/^speedup: neighbouring blocks are alike.*interval is too short/),
  ])
  expect(warningsOf(RISING, aGate({ severity: 'info' }))).toEqual([])
  expect(warningsOf(RISING, aGate({ limit: 5.2 }))).toEqual([])
  expect(warningsOf(RISING.slice(0, 4))).toEqual([])
  expect(warningsOf([0.01, 0.05, 0.02, 0.06, 0.03, 0.07, 0.02, 0.05])).toEqual([])
})

describe('of 1000 experiments with 8 blocks', () => {
  const told = (noise: BlockNoise) => {
    const random = seededRandom(8)
    return Array.from({ length: 1000 }, () => warningsOf(noise(random, 8)).length).filter(
      (count) => count > 0,
    ).length
  }

  test('2% have a warning with independent blocks, and about a third with a correlation of 0.8', () => {
    expect(told(independent(0.02))).toBeLessThan(20 + 15)
    expect(told(correlatedBlocks(0.8))).toBeGreaterThan(250)
  })
})

test('the chance of a ratio is that of independent normal numbers', () => {
  const random = seededRandom(9)
  const values = () => Array.from({ length: 8 }, () => normal(random))
  const ratioOf = (of: readonly number[]) => {
    const mean = of.reduce((sum, value) => sum + value, 0) / 8
    const squares = of.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    return of.slice(1).reduce((sum, value, index) => sum + (value - (of[index] ?? 0)) ** 2, 0) / squares
  }
  const below = Array.from({ length: 20_000 }, () => neighbourRatioCdf(ratioOf(values()), 8) < 0.05)
  expect(below.filter(Boolean).length / 20_000).toBeCloseTo(0.05, 2)
})
