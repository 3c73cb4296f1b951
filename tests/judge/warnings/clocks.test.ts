// A gate that the clocks of the GPUs decided is told.
import { describe, expect, test } from 'vitest'
import { compare } from '../../../src/judge/compare.ts'
import { judgeGate } from '../../../src/judge/gates/gate-verdict.ts'
import { clockWarnings } from '../../../src/judge/warnings/evidence/clocks.ts'
import { CYCLES_PER_SAMPLE } from '../../../src/metrics/catalogue.ts'
import { aGate, anExperiment, aRunSummary } from '../../fixtures/builders.ts'

/** `clocks`: of the baseline and of the optimized variant, in MHz. */
function warningsAt(speedup: number, clocks: readonly [number, number] | null, gate = aGate()) {
  const runs = [1, 2, 3, 4].flatMap((block) =>
    (['baseline', 'optimized'] as const).map((variant, index) => {
      const pace =
        (variant === 'baseline' ? 0.03 : 0.03 / speedup) * (1 + 0.001 * ((7 * block * (index + 1)) % 5))
      const cycles = clocks === null ? {} : { [CYCLES_PER_SAMPLE]: pace * (clocks[index] ?? 0) * 1e6 }
      return aRunSummary({ variant, block, metrics: { seconds_per_sample: pace, ...cycles } })
    }),
  )
  const comparison = compare(runs, [gate])
  const gates = comparison.gates.map((one) => ({ ...judgeGate(one), precision: null }))
  return clockWarnings({ experiment: anExperiment(), gates, comparison })
}

describe('a speedup', () => {
  test('that passes because the baseline ran on a lower clock', () => {
    expect(warningsAt(3.32, [1344, 1736])).toEqual([
      expect.stringMatching(/^speedup passed only because the baseline ran on a lower GPU clock.* 2\.5\dx/),
    ])
  })

  test('that fails because the optimized variant did', () => {
    expect(warningsAt(2.6, [1736, 1344])).toEqual([
      expect.stringMatching(/^speedup failed only because the optimized variant ran on a lower GPU clock/),
    ])
  })

  test.each([
    ['passes on equal clocks', 3.32, [1736, 1736]],
    ['passes by far on unequal ones', 5, [1344, 1736]],
    ['has clocks that differ by less than 2%', 3.01, [1720, 1736]],
    ['has no clocks', 3.32, null],
    ['is open', 3.0, [1344, 1736]],
  ] as const)('that %s has no warning', (_, speedup, clocks) => {
    expect(warningsAt(speedup, clocks)).toEqual([])
  })

  test('of a ratio, of a regression and by its estimate is told too', () => {
    const ratio = aGate({ statistic: 'ratio', direction: 'at_most', limit: 0.33 })
    expect(warningsAt(3.32, [1344, 1736], ratio)).toHaveLength(1)
    expect(warningsAt(1, [1344, 1736], aGate({ limit: 0.98 }))).toHaveLength(1)
    expect(warningsAt(3.32, [1344, 1736], aGate({ evidence: 'point' }))).toHaveLength(1)
    expect(warningsAt(3.32, [1344, 1736], aGate({ severity: 'info' }))).toEqual([])
  })
})
