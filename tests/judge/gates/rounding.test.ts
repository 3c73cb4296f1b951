// A held-out number with fewer digits than its limit needs leaves the gate open.
import { describe, expect, test } from 'vitest'
import { compare } from '../../../src/judge/compare.ts'
import { judgeGate } from '../../../src/judge/gates/gate-verdict.ts'
import { summarizeRuns } from '../../../src/measure/summary.ts'
import { aFinishedRun, aGate } from '../../fixtures/builders.ts'

const ratio = aGate({
  name: 'loss_ratio',
  metric: 'val_loss',
  statistic: 'ratio',
  direction: 'at_most',
  limit: 1.03,
})
const delta = aGate({
  ...ratio,
  name: 'loss_delta',
  statistic: 'difference',
  direction: 'below',
  limit: 0.001,
})

/** The last losses of each block, as the trainer writes them with so many decimals. */
async function judged(gate: typeof ratio, pairs: readonly (readonly [number, number])[], decimals: number) {
  const finished = await Promise.all(
    pairs.flatMap((pair, index) =>
      (['baseline', 'optimized'] as const).map((variant, which) =>
        aFinishedRun(
          { id: `block-${index + 1}-${variant}`, variant, block: index + 1, seed: index + 1 },
          { valLoss: Number((pair[which] ?? Number.NaN).toFixed(decimals)), start: { seed: index + 1 } },
        ),
      ),
    ),
  )
  const [comparison] = compare(summarizeRuns(finished), [gate]).gates
  if (!comparison) throw new Error('no gate')
  return judgeGate(comparison)
}

/** Each rounds to the same 4 decimals as its baseline. */
const SIX_PERCENT_WORSE = [0.00146, 0.0016505, 0.001551, 0.001453].map((loss) => [loss, loss * 1.06] as const)

describe('a model that is 6% worse', () => {
  test('does not pass 1.03 by losses of 4 decimals', async () => {
    const verdict = await judged(ratio, SIX_PERCENT_WORSE, 4)
    expect(verdict.evidence?.estimate).toBe(1)
    expect(verdict.status).toBe('inconclusive')
    expect((await judged({ ...ratio, evidence: 'point' }, SIX_PERCENT_WORSE, 4)).status).toBe('inconclusive')
  })

  test('nor by numbers of which one differs', async () => {
    const one = SIX_PERCENT_WORSE.map((pair, index) => (index === 0 ? ([0.00144, 0.00146] as const) : pair))
    const verdict = await judged({ ...ratio, limit: 1.2 }, one, 4)
    expect(verdict.status).toBe('passed')
    expect((await judged({ ...ratio, limit: 1.1 }, one, 4)).status).toBe('inconclusive')
  })

  test('fails by losses that are not rounded', async () => {
    expect((await judged(ratio, SIX_PERCENT_WORSE, 9)).status).toBe('failed')
  })
})

describe('equal models', () => {
  const equal = [
    [0.5012, 0.5013],
    [0.4987, 0.4986],
    [0.5034, 0.5034],
    [0.5101, 0.5099],
  ] as const

  test('pass where the limit is many steps away', async () => {
    expect((await judged(ratio, equal, 4)).status).toBe('passed')
    expect((await judged(delta, equal, 4)).status).toBe('passed')
  })

  test('stay open where one step is as large as the limit', async () => {
    const verdict = await judged(delta, equal, 3)
    expect(verdict.status).toBe('inconclusive')
    expect(verdict.reason).toContain('steps of 0.001')
    expect(verdict.staysOpen).toBe(true)
  })

  test('may be told apart by further blocks where the limit is further than one step', async () => {
    const near = [
      [0.5012, 0.5019],
      [0.4987, 0.4996],
      [0.5034, 0.5043],
      [0.5101, 0.5109],
    ] as const
    const verdict = await judged({ ...delta, limit: 0.00101 }, near, 4)
    expect(verdict).toMatchObject({ status: 'inconclusive', staysOpen: false })
  })

  test('by the estimate alone need the digits too', async () => {
    expect((await judged({ ...delta, evidence: 'point' }, equal, 3)).status).toBe('inconclusive')
    expect((await judged({ ...delta, evidence: 'point' }, equal, 5)).status).toBe('passed')
  })
})

test('one value that ends in zeros says nothing: all evaluations of all runs do', async () => {
  const pairs = [
    [0.5, 0.5],
    [0.501234567, 0.501234566],
    [0.49, 0.49000001],
  ] as const
  expect((await judged(delta, pairs, 9)).writtenInSteps).toBe(1e-9)
})
