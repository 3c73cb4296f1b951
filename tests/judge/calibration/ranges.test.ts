// The range of blocks that would decide, by simulation: it holds the number that the truth asks for about as often as it says.
import { expect, test } from 'vitest'
import { compare } from '../../../src/judge/compare.ts'
import { judgeGate } from '../../../src/judge/gates/gate-verdict.ts'
import { precisionOf } from '../../../src/judge/gates/precision.ts'
import { pairsToResolve } from '../../../src/statistics/power.ts'
import { seededRandom } from '../../../src/statistics/random.ts'
import { blocksOf } from '../../fixtures/builders.ts'
import { independent, LIMIT, SPEEDUP } from './experiments.ts'

/** Of 300 experiments with 4 blocks: the share of ranges that hold the right number, over the open ones. */
function held(truth: number, scatter: number): number {
  const random = seededRandom(14)
  const noise = independent(scatter)
  const needed = pairsToResolve(Math.SQRT2 * scatter, Math.abs(Math.log(truth / LIMIT)), 0.95) ?? Infinity
  const found = Array.from({ length: 300 }, () => {
    const pairs = noise(random, 4).map((value, index) => ({
      baseline: truth * Math.exp(value),
      optimized: 1 + 1e-9 * index,
    }))
    const [comparison] = compare(blocksOf('seconds_per_sample', pairs), [SPEEDUP]).gates
    const toDecide = comparison && precisionOf(judgeGate(comparison))?.toDecide
    if (toDecide?.status !== 'within-reach') return null
    return toDecide.blocks <= needed && needed <= (toDecide.most ?? Infinity)
  }).filter((one) => one !== null)
  return found.filter(Boolean).length / found.length
}

test.each([
  [3.15, 0.03],
  [3.11, 0.05],
])('for a true %dx with runs that scatter by %d', (truth, scatter) => {
  expect(held(truth, scatter)).toBeGreaterThan(0.7)
})
