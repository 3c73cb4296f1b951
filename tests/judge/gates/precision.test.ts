// What stands beside a bound: what could have been seen, how many blocks it would take, equivalence.
import { describe, expect, test } from 'vitest'
import type { Gate } from '../../../src/config/gates/gates.ts'
import { compare } from '../../../src/judge/compare.ts'
import { judgeGate } from '../../../src/judge/gates/gate-verdict.ts'
import { precisionOf } from '../../../src/judge/gates/precision.ts'
import { aGate, blocksOf } from '../../fixtures/builders.ts'

function precision(gate: Gate, optimized: readonly number[], baseline = 1) {
  const [comparison] = compare(
    blocksOf(
      gate.metric,
      optimized.map((value) => ({ baseline, optimized: value })),
    ),
    [gate],
  ).gates
  if (!comparison) throw new Error('no gate')
  return precisionOf(judgeGate({ ...comparison, repeating: [], seedless: [], roundedTo: null }))
}

const lossDelta = aGate({ metric: 'val_loss', statistic: 'difference', direction: 'below', limit: 0.001 })

describe('the minimal detectable effect', () => {
  test('of a difference is in its own unit', () => {
    // Standard deviation 0.001 of 4 pairs: 1.6497 of it, by TTestPower of statsmodels 0.15.0.
    const deviation = 0.001 * Math.sqrt(3 / 4)
    const found = precision(lossDelta, [1 - deviation, 1 + deviation, 1 - deviation, 1 + deviation])
    expect(found?.detectable).toBeCloseTo(0.001649724574639329, 9)
  })

  test('of a speedup is a share of its limit', () => {
    const log = 0.01 * Math.sqrt(3 / 4)
    const seconds = [log, -log, log, -log].map((value) => Math.exp(value) / 4)
    expect(precision(aGate(), seconds)?.detectable).toBeCloseTo(Math.expm1(0.01649724574639329), 8)
  })

  test('is unknown from one block, and for a level', () => {
    expect(precision(aGate(), [0.25])).toBeNull()
    expect(precision(aGate({ statistic: 'minimum' }), [0.25, 0.26])).toBeNull()
  })

  test('is unknown where the seeds are too few for an interval, and nothing is said of how many would decide', () => {
    expect(precision(lossDelta, [1, 1.0001])).toBeNull()
    expect(precision(lossDelta, [1, 1.0001, 0.9999])).not.toBeNull()
  })
})

describe('the blocks that would decide', () => {
  test('a loss are counted as if both models were equal', () => {
    // One standard deviation to the limit: 8 pairs if it is right; three seeds leave 0.66 to 3.1 of it plausible.
    const deviation = 0.001 * Math.sqrt(2 / 3)
    const found = precision(lossDelta, [
      1 - deviation * 1.2247448713915892,
      1,
      1 + deviation * 1.2247448713915892,
    ])
    expect(found?.toDecide).toEqual({ status: 'within-reach', blocks: 5, most: 70 })
  })

  test('are more than there are, however few should have been enough', () => {
    // Twice the deviation to the limit from no difference, but the losses came out beside the limit.
    const found = precision(lossDelta, [1.0007, 1.0011, 1.0007, 1.0011, 1.0007, 1.0011])
    expect(found?.toDecide).toEqual({ status: 'within-reach', blocks: 7, most: 7 })
  })

  test('a speedup are counted from its estimate', () => {
    const found = precision(aGate({ limit: 3.9 }), [0.24, 0.26, 0.24, 0.26])?.toDecide
    expect(found).toMatchObject({ status: 'within-reach', blocks: expect.any(Number) })
    expect(found?.status === 'within-reach' ? found.blocks : 0).toBeGreaterThan(4)
  })

  test('beyond 1000 are no plan', () => {
    const even = [0.9, 1.1, 0.9, 1.1]
    expect(precision(lossDelta, even)?.toDecide).toEqual({ status: 'out-of-reach', blocks: 1000 })
  })

  test('are not needed when it is decided', () => {
    expect(precision(aGate({ limit: 3 }), [0.24, 0.26, 0.24, 0.26])?.toDecide).toEqual({ status: 'decided' })
  })
})

describe('equivalence', () => {
  // statsmodels 0.15.0, ttost_paired(optimized, baseline, -0.001, 0.001): p = 2.2e-5 for the first.
  test.each([
    [true, [1.0001, 1, 1.0001, 1.0001]],
    [false, [0.998, 0.9981, 0.9979, 0.998]],
  ])('of losses by two one-sided tests is %j', (expected, losses) => {
    expect(precision(lossDelta, losses)?.isEquivalent).toBe(expected)
  })

  test('of a ratio has margins on both sides', () => {
    const ratio = aGate({ metric: 'evaluation.nrmse', statistic: 'ratio', direction: 'at_most', limit: 1.03 })
    expect(precision(ratio, [1.01, 1.012, 1.011])?.isEquivalent).toBe(true)
    expect(precision(ratio, [0.9, 0.901, 0.9])?.isEquivalent).toBe(false)
  })

  test('has the same margins where more is better', () => {
    const accuracy = aGate({
      metric: 'evaluation.acc',
      statistic: 'ratio',
      direction: 'at_least',
      limit: 0.97,
    })
    expect(precision(accuracy, [0.99, 0.988, 0.989])?.isEquivalent).toBe(true)
    expect(precision(accuracy, [1.1, 1.101, 1.1])?.isEquivalent).toBe(false)
    const by = aGate({ ...accuracy, statistic: 'difference', limit: -0.001 })
    expect(precision(by, [0.9999, 1, 0.9999, 0.9999])?.isEquivalent).toBe(true)
    expect(precision(by, [1.002, 1.0019, 1.0021])?.isEquivalent).toBe(false)
  })

  test('is asked of held-out numbers alone', () => {
    expect(precision(aGate(), [0.25, 0.25, 0.25])?.isEquivalent).toBeNull()
  })
})
