// A gate passes when its bound clears the limit, and never otherwise.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Gate } from '../../../src/config/gates/gates.ts'
import { compare } from '../../../src/judge/compare.ts'
import { judgeGate } from '../../../src/judge/gates/gate-verdict.ts'
import { precisionOf } from '../../../src/judge/gates/precision.ts'
import { aGate, blocksOf } from '../../fixtures/builders.ts'

/** Judged over blocks with the given numbers of the gate's own metric, which may repeat here: limits alone are at stake. */
function judged(gate: Gate, baseline: readonly number[], optimized: readonly number[]) {
  const pairs = baseline.map((value, index) => ({
    baseline: value,
    optimized: optimized[index] ?? Number.NaN,
  }))
  const [comparison] = compare(blocksOf(gate.metric, pairs), [gate]).gates
  if (!comparison) throw new Error('no gate')
  return judgeGate({ ...comparison, repeating: [], seedless: [], roundedTo: null })
}
const columns = (of: readonly (readonly [number, number])[]) =>
  [of.map(([baseline]) => baseline), of.map(([, optimized]) => optimized)] as const
/** What stands beside a bound, but for the bounds themselves. */
function beside(verdict: ReturnType<typeof judged>) {
  const { detectable, toDecide, isEquivalent } = precisionOf(verdict) ?? {}
  return { detectable: detectable?.toPrecision(9), toDecide, isEquivalent }
}
const stateOf = (...given: Parameters<typeof judged>) => judged(...given).status

const speedup = aGate()
const lossDelta = aGate({
  name: 'loss_delta',
  metric: 'val_loss',
  statistic: 'difference',
  direction: 'below',
  limit: 0.001,
})
const nrmseRatio = aGate({
  name: 'nrmse_ratio',
  metric: 'evaluation.nrmse',
  statistic: 'ratio',
  direction: 'at_most',
  limit: 1.03,
})

describe('the speedup gate', () => {
  test('passes when its lower bound clears the limit', () => {
    expect(judged(speedup, [4, 4.1, 4, 4.1], [1, 1, 1, 1])).toMatchObject({
      status: 'passed',
      reason: 'the whole interval clears the limit',
    })
  })

  test('passes exactly at the limit, whatever the logarithm does to the last digit', () => {
    expect(stateOf(speedup, [3, 6, 0.3], [1, 2, 0.1])).toBe('passed')
    expect(stateOf(speedup, [2.999999, 2.999999], [1, 1])).toBe('failed')
  })

  test('is inconclusive when the interval spans the limit', () => {
    expect(judged(speedup, [3, 3.4, 3, 3.4], [1, 1, 1, 1])).toMatchObject({
      status: 'inconclusive',
      reason: 'the interval spans the limit after 4 blocks',
    })
  })

  test('fails when its upper bound misses the limit', () => {
    expect(stateOf(speedup, [2, 2.1, 2, 2.1], [1, 1, 1, 1])).toBe('failed')
  })

  test('does not pass on an estimate above the limit alone', () => {
    const { evidence, status } = judged(speedup, [3.1, 3.2], [1, 1])
    expect(evidence?.estimate).toBeGreaterThan(3)
    expect(status).toBe('inconclusive')
  })

  test('is inconclusive with one block, however large the speedup', () => {
    expect(judged(speedup, [400], [1])).toMatchObject({
      status: 'inconclusive',
      reason: expect.stringMatching(/^no valid interval from 1 block; .*at least 2 blocks.*evidence: point$/),
    })
  })

  test('judges one block by its estimate when the experiment accepts that, and says so', () => {
    const point = aGate({ evidence: 'point' })
    expect(judged(point, [3], [1])).toMatchObject({
      status: 'passed',
      reason: 'by its point estimate alone (evidence: point), over 1 block',
    })
    expect(stateOf(point, [2.99], [1])).toBe('failed')
  })
})

describe('a ratio of numbers that were reported, and have none', () => {
  const retries = aGate({ metric: 'allocation_retries', statistic: 'ratio', direction: 'at_most', limit: 1 })

  test.each([
    [[0, 0, 0], [0, 0, 0], 'every run reported allocation_retries as 0, so it has no ratio'],
    [[0, 2, 1], [0, 1, 1], 'a ratio needs allocation_retries above 0 in every run'],
    [[1, 1, 1], [1, Number.NaN, 1], 'not every run reported a usable allocation_retries'],
  ])('%j and %j', (baseline, optimized, reason) => {
    expect(judged(retries, baseline, optimized)).toMatchObject({ status: 'not-measured', reason })
  })
})

describe('the loss gate', () => {
  test('passes equal losses, and a loss that is worse by less than the limit', () => {
    expect(stateOf(lossDelta, [0.02, 0.02, 0.02], [0.02, 0.02, 0.02])).toBe('passed')
    expect(stateOf(lossDelta, [0.5, 0.5, 0.5], [0.5001, 0.5002, 0.5001])).toBe('passed')
  })

  test('fails exactly at a limit that has to be undercut', () => {
    const half = aGate({ ...lossDelta, limit: 0.5 })
    expect(stateOf(half, [8, 8, 8], [8.5, 8.5, 8.5])).toBe('failed')
    expect(stateOf(aGate({ ...half, direction: 'at_most' }), [8, 8, 8], [8.5, 8.5, 8.5])).toBe('passed')
  })

  test('is inconclusive when seeds scatter beyond the limit', () => {
    expect(stateOf(lossDelta, [0.5, 0.5, 0.5], [0.501, 0.499, 0.5])).toBe('inconclusive')
  })

  test.each([1, 2])('cannot prove anything with %d seeds, and shows no bound', (seeds) => {
    const losses = Array<number>(seeds).fill(0.5)
    const { status, evidence } = judged(lossDelta, losses, losses)
    expect(status).toBe('inconclusive')
    expect(evidence?.bounds).toBeNull()
    const point = judged(aGate({ ...lossDelta, evidence: 'point' }), losses, losses)
    expect(point).toMatchObject({
      status: 'passed',
      reason: expect.stringContaining('with so few seeds, chance'),
    })
  })

  test('calls three seeds luck no more, where an estimate suffices', () => {
    const point = aGate({ ...lossDelta, evidence: 'point' })
    expect(judged(point, [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]).reason).not.toContain('luck')
  })

  test('is insensitive past a tenth of the baseline loss', () => {
    expect(judged(lossDelta, [0.009, 0.009, 0.009], [0.009, 0.009, 0.009]).insensitive).toBe(true)
    expect(judged(lossDelta, [0.02, 0.02, 0.02], [0.02, 0.02, 0.02]).insensitive).toBe(false)
    expect(judged(lossDelta, [0.0101, 0.0101], [0.0101, 0.0101]).insensitive).toBe(false)
  })
})

describe('a ratio gate', () => {
  test('passes below its limit and fails above', () => {
    expect(stateOf(nrmseRatio, [1, 1, 1], [1.01, 1.01, 1.01])).toBe('passed')
    expect(stateOf(nrmseRatio, [1, 1, 1], [1.04, 1.04, 1.04])).toBe('failed')
  })

  test('of a held-out number needs 3 seeds, by whatever statistic', () => {
    expect(stateOf(nrmseRatio, [1, 1], [1, 1])).toBe('inconclusive')
    const latency = aGate({ metric: 'evaluation.latency_seconds', statistic: 'speedup', limit: 0.97 })
    expect(stateOf(latency, [1, 1], [1, 1])).toBe('inconclusive')
  })

  test('of bytes has no unit', () => {
    const bytesRatio = aGate({
      metric: 'peak_memory_allocated_bytes',
      statistic: 'ratio',
      direction: 'at_most',
      limit: 1,
    })
    expect(stateOf(bytesRatio, [4e9, 4e9], [6e9, 6e9])).toBe('failed')
    expect(stateOf(bytesRatio, [4e9, 4e9], [3e9, 3e9])).toBe('passed')
    const upsideDown = aGate({ ...bytesRatio, statistic: 'speedup', direction: 'at_least' })
    expect(stateOf(upsideDown, [4e9, 4e9], [3e9, 3e9])).toBe('passed')
  })
})

describe('a gate of a number of which more is better', () => {
  const accuracy = aGate({
    name: 'accuracy',
    metric: 'evaluation.acc',
    statistic: 'difference',
    direction: 'at_least',
    limit: -0.01,
  })
  const ratio = aGate({ ...accuracy, statistic: 'ratio', limit: 0.99 })

  test('passes by its lower bound, and fails by its upper one', () => {
    expect(stateOf(accuracy, [0.9, 0.91, 0.9], [0.9, 0.909, 0.9])).toBe('passed')
    expect(stateOf(accuracy, [0.9, 0.9, 0.9], [0.89, 0.9, 0.895])).toBe('inconclusive')
    expect(stateOf(accuracy, [0.9, 0.9, 0.9], [0.5, 0.51, 0.5])).toBe('failed')
    expect(stateOf(ratio, [0.9, 0.91, 0.9], [0.9, 0.909, 0.9])).toBe('passed')
    expect(stateOf(ratio, [0.9, 0.9, 0.9], [0.5, 0.51, 0.5])).toBe('failed')
  })

  test('passes exactly at the limit', () => {
    expect(stateOf(aGate({ ...accuracy, limit: -0.5 }), [8, 8, 8], [7.5, 7.5, 7.5])).toBe('passed')
    expect(stateOf(aGate({ ...accuracy, limit: -0.1 }), [0.9, 0.9, 0.9], [0.8, 0.8, 0.8])).toBe('passed')
    expect(stateOf(aGate({ ...accuracy, limit: -0.5 }), [8, 8, 8], [7.49, 7.49, 7.49])).toBe('failed')
  })

  test('goes by its estimate where that suffices', () => {
    const point = aGate({ ...accuracy, evidence: 'point' })
    expect(stateOf(point, [0.9], [0.895])).toBe('passed')
    expect(stateOf(point, [0.9], [0.88])).toBe('failed')
  })

  test('is insensitive past a tenth of the baseline', () => {
    expect(judged(aGate({ ...accuracy, limit: -0.1 }), [0.9, 0.9, 0.9], [0.9, 0.9, 0.9]).insensitive).toBe(
      true,
    )
    expect(judged(accuracy, [0.9, 0.9, 0.9], [0.9, 0.9, 0.9]).insensitive).toBe(false)
  })

  const number = fc.double({ min: 0.5, max: 2, noNaN: true })
  const pairs = fc.array(fc.tuple(number, number), { minLength: 1, maxLength: 8 })
  const evidence = fc.constantFrom('interval', 'point')

  test('is judged as its mirror image is', () => {
    fc.assert(
      fc.property(pairs, fc.double({ min: 0.01, max: 1, noNaN: true }), evidence, (of, margin, by) => {
        const less = aGate({ ...accuracy, direction: 'at_most', limit: margin, evidence: by })
        const more = aGate({ ...accuracy, limit: -margin, evidence: by })
        const below = judged(less, ...columns(of.map(([b, o]) => [-b, -o])))
        const above = judged(more, ...columns(of))
        expect([above.status, above.insensitive]).toEqual([below.status, below.insensitive])
        expect(beside(above)).toEqual(beside(below))
      }),
    )
  })
})

describe('the memory gate', () => {
  const memory = aGate({
    metric: 'peak_memory_reserved_bytes',
    statistic: 'maximum',
    direction: 'below',
    limit: 50,
  })

  test('judges the largest run in GB, with a single block too', () => {
    expect(stateOf(memory, [80e9], [49.9e9])).toBe('passed')
    expect(stateOf(memory, [80e9, 80e9], [10e9, 50e9])).toBe('failed')
  })

  test('judges a difference in GB', () => {
    const growth = aGate({ ...memory, statistic: 'difference', limit: 2 })
    expect(stateOf(growth, [10e9, 10e9], [11e9, 11e9])).toBe('passed')
    expect(stateOf(growth, [10e9, 10e9], [13e9, 13e9])).toBe('failed')
  })
})

describe('a number that came out as NaN or infinite', () => {
  const metric = 'evaluation.mass_gap/advection1d'
  const [level, ratio] = [
    aGate({ metric, statistic: 'maximum', direction: 'at_most', limit: 0.15 }),
    aGate({ metric, statistic: 'ratio', direction: 'at_most', limit: 1.1 }),
  ]
  /** Four blocks; `lacking` are the runs without a number, of which `named` came out so. */
  const judgedWithout = (gate: Gate, lacking: readonly string[], named = lacking) => {
    const runs = blocksOf(metric, Array(4).fill({ baseline: 0.1, optimized: 0.1 })).map((run) => ({
      ...run,
      metrics: lacking.includes(run.runId) ? {} : run.metrics,
      notFinite: named.includes(run.runId) ? [metric] : [],
    }))
    const [comparison] = compare(runs, [gate]).gates
    if (!comparison) throw new Error('no gate')
    return judgeGate(comparison)
  }

  test('fails a level and a comparison, and is named with its run', () => {
    for (const gate of [level, ratio])
      expect(judgedWithout(gate, ['block-2-optimized'])).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(/mass_gap\/advection1d .*NaN.* block-2-optimized/),
      })
  })

  test('leaves the gate open where the trainer does not say why it is missing', () => {
    expect(judgedWithout(level, ['block-2-optimized'], []).status).toBe('not-measured')
    expect(judgedWithout(level, ['block-1-optimized', 'block-2-optimized'], []).status).toBe('not-measured')
  })

  test('of the baseline fails no level, and leaves a comparison open, whatever the optimized run has', () => {
    expect(judgedWithout(level, ['block-2-baseline']).status).toBe('passed')
    expect(judgedWithout(ratio, ['block-2-baseline']).status).toBe('not-measured')
    const both = ['block-2-baseline', 'block-2-optimized']
    expect(judgedWithout(level, both).status).toBe('failed')
    expect(judgedWithout(ratio, both).status).toBe('not-measured')
  })
})

describe('a number that is not there', () => {
  test('is not blamed on a run where no block is whole', () => {
    const none = {
      gate: aGate(),
      baseline: null,
      optimized: null,
      evidence: null,
      repeating: [],
      seedless: [],
      roundedTo: null,
      writtenInSteps: null,
      heldOut: [],
      notFinite: [],
      whyNoTimeToQuality: null,
      look: { mayPass: true, mayFail: true },
    }
    expect(judgeGate({ ...none, blocks: 0 }).reason).toBe('no block has two finished runs')
    expect(judgeGate({ ...none, blocks: 4 }).reason).toBe(
      'not every run reported a usable seconds_per_sample',
    )
  })

  test('of a time to quality is told by what the runs ended with', () => {
    const late = {
      gate: aGate({ metric: 'time_to_quality_seconds' }),
      baseline: 9,
      optimized: null,
      evidence: null,
      blocks: 4,
      repeating: [],
      seedless: [],
      roundedTo: null,
      writtenInSteps: null,
      heldOut: [],
      notFinite: [],
      whyNoTimeToQuality: '1 of 8 runs do not end there',
      look: { mayPass: true, mayFail: true },
    }
    expect(judgeGate(late)).toMatchObject({ status: 'not-measured', reason: late.whyNoTimeToQuality })
    expect(judgeGate({ ...late, blocks: 0 }).reason).toBe('no block has two finished runs')
  })

  test('of the trainer is answered with what it reported, the nearest name first', () => {
    const reported = (...names: string[]) =>
      judgeGate({
        gate: aGate({ metric: 'evaluation.acuracy', statistic: 'difference', limit: -0.01 }),
        baseline: null,
        optimized: null,
        evidence: null,
        blocks: 1,
        repeating: [],
        seedless: [],
        roundedTo: null,
        writtenInSteps: null,
        heldOut: names,
        notFinite: [],
        whyNoTimeToQuality: null,
        look: { mayPass: true, mayFail: true },
      }).reason
    const missing = 'not every run reported a usable evaluation.acuracy'
    expect(reported()).toBe(missing)
    expect(reported('val_loss', 'evaluation.f1', 'evaluation.accuracy')).toBe(
      `${missing}; all reported evaluation.accuracy, evaluation.f1, val_loss`,
    )
    const many = Array.from({ length: 9 }, (_, at) => `evaluation.${at}`)
    expect(reported(...many, 'x'.repeat(10_000))).toMatch(
      /; all reported (evaluation\.\d, ){5}evaluation\.\d and 3 more$/,
    )
    expect(reported('evaluation.acuracy')).toBe(missing)
  })

  test('is not measured, by point estimate neither', () => {
    for (const evidence of ['interval', 'point'] as const) {
      const verdict = judgeGate({
        gate: aGate({ evidence }),
        baseline: null,
        optimized: null,
        evidence: null,
        blocks: 4,
        repeating: [],
        seedless: [],
        roundedTo: null,
        writtenInSteps: null,
        heldOut: [],
        notFinite: [],
        whyNoTimeToQuality: null,
        look: { mayPass: true, mayFail: true },
      })
      expect(verdict).toMatchObject({
        status: 'not-measured',
        reason: 'not every run reported a usable seconds_per_sample',
      })
    }
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e308])(
    '%d never passes',
    (bad) => {
      for (const evidence of ['interval', 'point'] as const) {
        expect(stateOf(aGate({ evidence }), [4, 4, 4], [1, bad, 1])).not.toBe('passed')
        expect(stateOf(aGate({ ...lossDelta, evidence }), [-bad, 0.5, 0.5], [bad, 0.5, 0.5])).not.toBe(
          'passed',
        )
        expect(stateOf(aGate({ ...nrmseRatio, evidence }), [1, 1, 1], [1, bad, 1])).not.toBe('passed')
      }
    },
  )
})

describe('the level gates', () => {
  test('judge the worst run', () => {
    const utilization = aGate({ metric: 'gpu_utilization', statistic: 'minimum', limit: 0.85 })
    expect(stateOf(utilization, [0.5, 0.5], [0.95, 0.86])).toBe('passed')
    expect(stateOf(utilization, [0.99, 0.99], [0.95, 0.84])).toBe('failed')
  })

  test('judge a cost by the price of a GPU hour', () => {
    const cost = aGate({
      metric: 'gpu_hours',
      statistic: 'maximum',
      direction: 'below',
      limit: 2,
      pricePerGpuHour: 1.89,
    })
    expect(stateOf(cost, [5], [1.05])).toBe('passed')
    expect(stateOf(cost, [5], [1.06])).toBe('failed')
  })
})
