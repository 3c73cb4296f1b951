// Runs become blocks, and blocks one estimate per gate.
import { describe, expect, test } from 'vitest'
import { compare } from '../../src/judge/compare.ts'
import { judgeGate } from '../../src/judge/gates/gate-verdict.ts'
import { aGate, aRunSummary, blocksOf } from '../fixtures/builders.ts'

const comparisonOf = (runs: Parameters<typeof compare>[0], gate = aGate()) => {
  const [only] = compare(runs, [gate]).gates
  if (!only) throw new Error('no gate')
  return only
}
const memory = aGate({
  metric: 'peak_memory_reserved_bytes',
  statistic: 'maximum',
  direction: 'below',
  limit: 50,
})

describe('blocks', () => {
  test('pair the runs of one number, in order, whatever order they ran in', () => {
    const runs = [
      aRunSummary({ block: 2, variant: 'optimized' }),
      aRunSummary({ block: 1, variant: 'baseline' }),
      aRunSummary({ block: 2, variant: 'baseline' }),
      aRunSummary({ block: 1, variant: 'optimized' }),
    ]
    const { blocks } = compare(runs, [])
    expect(blocks.map(({ block, baseline, optimized }) => [block, baseline.runId, optimized.runId])).toEqual([
      [1, 'block-1-baseline', 'block-1-optimized'],
      [2, 'block-2-baseline', 'block-2-optimized'],
    ])
  })

  test('have no warm-up launch and no half block in them', () => {
    const runs = [
      aRunSummary({ purpose: 'warm-up', block: null, variant: 'baseline' }),
      aRunSummary({ purpose: 'warm-up', block: null, variant: 'optimized' }),
      aRunSummary({ block: 3, variant: 'baseline' }),
    ]
    expect(compare(runs, [aGate()])).toMatchObject({
      blocks: [],
      gates: [{ baseline: null, optimized: null, evidence: null }],
    })
  })
})

describe('a comparison', () => {
  test('of times to a quality says which run has none, of its own blocks and metric alone', () => {
    const gate = aGate({ metric: 'time_to_quality_seconds' })
    const losses = [{ name: 'val_loss', value: 0.2, limit: 0.1 }]
    const late = { time_to_quality_seconds: { kind: 'ends above', losses } } as const
    const runs = [
      aRunSummary({ variant: 'baseline', noTimeToQuality: {} }),
      aRunSummary({ variant: 'optimized', noTimeToQuality: late }),
    ]
    const why =
      '1 of 2 runs end with a higher held-out loss than their baseline: block-1-optimized at val_loss 0.2000 (baseline 0.1000)'
    expect(comparisonOf(runs, gate).whyNoTimeToQuality).toBe(why)
    expect(judgeGate(comparisonOf(runs, gate)).reason).toBe(why)
    expect(comparisonOf(runs).whyNoTimeToQuality).toBeNull()
    const half = aRunSummary({ block: 2, variant: 'optimized', noTimeToQuality: late })
    expect(comparisonOf([...runs, half], gate).whyNoTimeToQuality).toBe(why)
  })

  test('by speedup has geometric means whose quotient is the estimate', () => {
    const pairs = [
      { baseline: 8, optimized: 2 },
      { baseline: 2, optimized: 1 },
    ]
    const { baseline, optimized, evidence } = comparisonOf(blocksOf('seconds_per_sample', pairs))
    expect(baseline).toBeCloseTo(4, 12)
    expect(optimized).toBeCloseTo(Math.SQRT2, 12)
    expect(evidence?.estimate).toBeCloseTo(4 / Math.SQRT2, 12)
  })

  test('by difference has arithmetic means whose difference is the estimate', () => {
    const gate = aGate({ metric: 'val_loss', statistic: 'difference', direction: 'below', limit: 0.001 })
    const pairs = [
      { baseline: 0.5, optimized: 0.25 },
      { baseline: 0.25, optimized: 0.25 },
    ]
    expect(comparisonOf(blocksOf('val_loss', pairs), gate)).toMatchObject({
      baseline: 0.375,
      optimized: 0.25,
      evidence: { estimate: -0.125 },
    })
  })

  test('has no level past what a double holds', () => {
    const gate = aGate({ metric: 'val_loss', statistic: 'difference', direction: 'below', limit: 0.001 })
    const pair = { baseline: 1.7e308, optimized: 1 }
    expect(comparisonOf(blocksOf('val_loss', [pair, pair]), gate)).toMatchObject({
      baseline: null,
      optimized: 1,
    })
  })

  test('by maximum has the worst run, and needs no baseline', () => {
    const runs = blocksOf('peak_memory_reserved_bytes', [
      { baseline: 9, optimized: 3 },
      { baseline: 9, optimized: 4 },
    ]).map((run) => (run.variant === 'baseline' ? { ...run, metrics: {} } : run))
    expect(comparisonOf(runs, memory)).toMatchObject({
      baseline: null,
      optimized: 4,
      evidence: { estimate: 4, bounds: { lower: 4, upper: 4 } },
    })
  })

  test('by maximum has no evidence without a block', () => {
    expect(comparisonOf([], memory)).toMatchObject({ optimized: null, evidence: null })
  })

  test('has no evidence when one run lacks the metric', () => {
    const runs = blocksOf('seconds_per_sample', [
      { baseline: 8, optimized: 2 },
      { baseline: 8, optimized: 2 },
    ])
    const lacking = runs.map((run, index) => (index === 3 ? { ...run, metrics: {} } : run))
    expect(comparisonOf(lacking)).toMatchObject({ optimized: null, evidence: null })
    const lackingBaseline = runs.map((run, index) => (index === 0 ? { ...run, metrics: {} } : run))
    expect(comparisonOf(lackingBaseline)).toMatchObject({ baseline: null, evidence: null })
  })

  test('tells which variant gave one and the same number, from two runs on', () => {
    const repeatingIn = (...pairs: { baseline: number; optimized: number }[]) =>
      comparisonOf(blocksOf('seconds_per_sample', pairs))?.repeating
    expect(repeatingIn({ baseline: 8, optimized: 2 }, { baseline: 8, optimized: 3 })).toEqual(['baseline'])
    expect(repeatingIn({ baseline: 8, optimized: 2 })).toEqual([])
  })

  test('has no ratio of losses that are not positive', () => {
    const gate = aGate({ metric: 'val_loss', statistic: 'ratio', direction: 'at_most', limit: 1.03 })
    const found = comparisonOf(blocksOf('val_loss', [{ baseline: -1, optimized: -2 }]), gate)
    expect(found).toMatchObject({ baseline: -1, optimized: -2, evidence: null })
    const mixed = blocksOf('val_loss', [
      { baseline: -1, optimized: 2 },
      { baseline: 3, optimized: 2 },
    ])
    expect(comparisonOf(mixed, gate)).toMatchObject({ baseline: 1, evidence: null })
  })
})

describe('held-out losses', () => {
  const lossDelta = aGate({ metric: 'val_loss', statistic: 'difference', direction: 'below', limit: 0.001 })
  const pairsOf = (...pairs: [baseline: number, optimized: number][]) =>
    comparisonOf(
      blocksOf(
        'val_loss',
        pairs.map(([baseline, optimized]) => ({ baseline, optimized })),
      ),
      lossDelta,
    )

  test('whose differences are rounded away have no interval', () => {
    const rounded = pairsOf([0.11, 0.11], [0.1, 0.1], [0.12, 0.12])
    expect(rounded.roundedTo).toBe(0.01)
    expect(judgeGate(rounded)).toMatchObject({
      status: 'inconclusive',
      evidence: { bounds: null },
      reason: expect.stringMatching(
        /^val_loss .*steps of 0\.01000.* all 3 blocks.*no valid interval.*unrounded$/,
      ),
    })
    expect(pairsOf([0.11, 0.12], [0.1, 0.1], [0.12, 0.12]).roundedTo).toBeNull()
  })

  test('that are equal in full precision, or differ by far more than digits are cut off, have one', () => {
    const equal = pairsOf([1 / 9, 1 / 9], [0.1, 0.1], [0.1234567, 0.1234567])
    expect(judgeGate(equal)).toMatchObject({ status: 'passed', roundedTo: null })
    expect(judgeGate(pairsOf([0.11, 0.31], [0.1, 0.3], [0.12, 0.32]))).toMatchObject({
      status: 'failed',
      roundedTo: null,
    })
  })

  const seeded = (...losses: number[][]) =>
    losses.flatMap((firstTrainLosses, index) =>
      (['baseline', 'optimized'] as const).map((variant) =>
        aRunSummary({
          variant,
          block: index + 1,
          firstTrainLosses: variant === 'baseline' ? [index, 1, 2] : firstTrainLosses,
          metrics: { val_loss: 0.1 + 1e-7 * index ** 2 + (variant === 'baseline' ? 0 : 1e-8 * index) },
        }),
      ),
    )

  test('of one seed have no interval', () => {
    const found = comparisonOf(seeded([0.9, 0.8, 0.7], [0.9, 0.80001, 0.7], [0.9, 0.8, 0.70001]), lossDelta)
    expect(found.seedless).toEqual(['optimized'])
    expect(judgeGate(found)).toMatchObject({
      status: 'inconclusive',
      reason: expect.stringMatching(
        /first training losses of the optimized .*all 3 seeds.*no valid interval.*seed$/,
      ),
    })
  })

  test.each([
    ['seeds', 2e-4, []],
    ['sums in another order', 5e-5, ['optimized']],
  ])(
    'that differ as by %s, in %d of each first loss, are told apart to four digits',
    (_, share, seedless) => {
      const runs = [0, 1, 2].map((block) => [0.9, 0.8, 0.7].map((loss) => loss * (1 + (block * share) / 2)))
      expect(comparisonOf(seeded(...runs), lossDelta).seedless).toEqual(seedless)
    },
  )

  test('of several seeds have one, though the first step may be alike, and where no losses are told', () => {
    const alike = seeded([0.9, 0.8, 0.7], [0.9, 0.81, 0.7], [0.9, 0.8, 0.7])
    expect(judgeGate(comparisonOf(alike, lossDelta))).toMatchObject({ status: 'passed', seedless: [] })
    expect(judgeGate(comparisonOf(seeded([], [], []), lossDelta)).status).toBe('passed')
  })
})
