// The row of one gate: what is shown never contradicts what was judged.
import { describe, expect, test } from 'vitest'
import { gatesOf } from '../../../src/config/experiment.ts'
import { type Gate, gatesFile } from '../../../src/config/gates/gates.ts'
import { unitOf } from '../../../src/judge/gates/gate-kind.ts'
import { clears, type GateVerdict } from '../../../src/judge/gates/gate-verdict.ts'
import { gateCells, gateMeaning, gateQuestion } from '../../../src/report/gates/gate-row.ts'
import { anExperiment } from '../../fixtures/builders.ts'

function aGate(gates: Readonly<Record<string, object>>): Gate {
  const launch = { ...anExperiment().launch, price_per_gpu_hour: 0.52 }
  const [gate] = gatesOf(anExperiment({ launch, gates: gatesFile.parse(gates) }))
  if (gate === undefined) throw new Error('no gate')
  return gate
}

function aVerdict(gate: Gate, difference: Partial<GateVerdict>): GateVerdict {
  const unseen = {
    blocks: 4,
    repeating: [],
    seedless: [],
    roundedTo: null,
    writtenInSteps: null,
    heldOut: [],
    notFinite: [],
    whyNoTimeToQuality: null,
    look: { mayPass: true, mayFail: true },
    reason: '',
    insensitive: false,
    staysOpen: false,
  }
  return { gate, baseline: 1, optimized: 1, evidence: null, status: 'passed', ...unseen, ...difference }
}

/** Optimized, limit and verdict of a level, which is given in the unit of its limit. */
function cellsOf(gates: Readonly<Record<string, object>>, level: number): string {
  const gate = aGate(gates)
  const optimized = level * unitOf(gate)
  const status = clears(gate, optimized) ? 'passed' : 'failed'
  const cells = gateCells(aVerdict(gate, { optimized, status }))
  return [2, 5, 6].map((column) => cells[column]).join(' | ')
}

describe('a level reads on the side of its limit that it is on', () => {
  const warn = { severity: 'warn' }
  const worst = (metric: string, limit: object) => ({ worst: { metric, statistic: 'maximum', ...limit } })
  test.each([
    [44, { peak_memory_gb: { below: 50 } }, '44.0 GB (41.0 GiB) | < 50.0 GB (46.6 GiB) | passed'],
    [
      49.9996,
      { peak_memory_gb: { below: 50 } },
      '49.9996 GB (46.5658 GiB) | < 50.0000 GB (46.5661 GiB) | passed',
    ],
    [50.01, { peak_memory_gb: { at_most: 50 } }, '50.01 GB (46.58 GiB) | <= 50.00 GB (46.57 GiB) | failed'],
    [79.953, { peak_memory_gb: { below: 79.96 } }, '79.95 GB (74.46 GiB) | < 79.96 GB (74.47 GiB) | passed'],
    [79.943, { peak_memory_gb: { below: 79.94 } }, '79.94 GB (74.45 GiB) | < 79.94 GB (74.45 GiB) | failed'],
    [0.0126, { data_wait_share: { at_most: 0.0127 } }, '1.26% | <= 1.27% | passed'],
    [0.0501, { data_wait_share: { at_most: 0.05 } }, '5.01% | <= 5.00% | failed'],
    [0.945, { gpu_utilization: { at_least: 0.95, ...warn } }, '94.5% | >= 95.0% | not reached (warn)'],
    [5.0045, { cost_per_run: { at_most: 5.004 } }, '5.005 | <= 5.004 | failed'],
    [2.9996, { cost_per_run: { below: 3 } }, '2.9996 | < 3.0000 | passed'],
    [1234567, worst('allocation_retries', { at_most: 2 }), '1234567 | <= 2 | failed'],
    [0.0123456, worst('val_loss', { below: 0.5 }), '0.01235 | < 0.5000 | passed'],
    [60.04, worst('total_seconds', { at_most: 60 }), '60.04 s | <= 60.00 s | failed'],
    [
      0.00127,
      worst('seconds_per_sample', { below: 0.0013 }),
      '0.00127 s/sample | < 0.00130 s/sample | passed',
    ],
  ])('%d: %o', (level, gates, cells) => {
    expect(cellsOf(gates, level)).toBe(cells)
  })
})

describe('a difference has the unit of its limit', () => {
  const cells = (metric: string, below: number, estimate: number, lower: number, upper: number) => {
    const gate = aGate({ more: { metric, statistic: 'difference', below } })
    const bounds = { lower, upper }
    const evidence = {
      estimate,
      bounds,
      pairs: 4,
      confidence: { lower: 0.95, upper: 0.95 },
      values: [],
      scale: 'linear',
    } as const
    return gateCells(aVerdict(gate, { evidence })).slice(3, 6).join(' | ')
  }
  test.each([
    ['total_seconds', 0.5, 0.412, 0.3, 0.49999, '+0.41200 s | +0.30000 s to +0.49999 s | < 0.500 s'],
    ['data_wait_share', 0.0125, 0.00233, 0.00184, 0.00282, '+0.233% | +0.184% to +0.282% | < 1.25%'],
    [
      'peak_memory_reserved_bytes',
      2,
      1e9,
      -5e8,
      3e9,
      '+1.00 GB | -0.50 GB to +3.00 GB | < 2.00 GB (1.86 GiB)',
    ],
    ['gpu_hours', 0.1, 0.05, 0.01, 0.2, '+0.0500 | +0.010 to +0.200 | < 0.100'],
  ])('%s', (metric, below, estimate, lower, upper, expected) => {
    expect(cells(metric, below, estimate, lower, upper)).toBe(expected)
  })
})

describe('the bounds of a ratio have the same decimals, finer than they are apart, and at least two digits', () => {
  const gate = aGate({ energy_ratio: { at_most: 1.03 } })
  test.each([
    [0.9997, 1.0003, '0.9997x to 1.0003x'],
    [0.0123, 340, '0.012x to 340x'],
    [0.99968, 1.00032, '0.9996x to 1.0004x'],
    [0.955, 1.132, '0.95x to 1.14x'],
    [0.9999999, 1.0000001, '0.9999999x to 1.0000001x'],
    [0.0512, 1.2, '0.051x to 1.20x'],
    [1.02999, 1.0301, '1.0299x to 1.0301x'],
    [1, 1, '1.00x to 1.00x'],
    [1 - 1e-15, 1 + 1e-15, '1.00x to 1.00x'],
  ])('%d and %d', (lower, upper, text) => {
    const bounds = { lower, upper }
    const evidence = {
      estimate: 1,
      bounds,
      pairs: 4,
      confidence: { lower: 0.95, upper: 0.95 },
      values: [],
      scale: 'log',
    } as const
    expect(gateCells(aVerdict(gate, { evidence }))[4]).toBe(`${text}`)
  })
})

test('a ratio of two zeros says that both are 0', () => {
  const gate = aGate({ retries: { metric: 'allocation_retries', statistic: 'ratio', at_most: 1 } })
  const [, ...cells] = gateCells(aVerdict(gate, { baseline: 0, optimized: 0, status: 'not-measured' }))
  expect(cells).toEqual(['0', '0', 'both 0', '', '<= 1.00x', 'not measured'])
})

test('an estimate that decides alone reads on its side of the limit', () => {
  const gate = aGate({ speedup: { at_least: 3.68, evidence: 'point' } })
  const bounds = { lower: 3.44, upper: 3.94 }
  const evidence = {
    estimate: 3.6778,
    bounds,
    pairs: 4,
    confidence: { lower: 0.95, upper: 0.95 },
    values: [],
    scale: 'log',
  } as const
  expect(gateCells(aVerdict(gate, { evidence })).slice(3, 6)).toEqual([
    '3.678x',
    '3.44x to 3.94x',
    '>= 3.68x',
  ])
})

test('a question names the share that a ratio is off from 1, whatever its direction', () => {
  const share = (gate: object) => gateQuestion(aGate({ energy_ratio: gate })).split('; ')[1]
  expect(
    [
      { below: 1.03 },
      { at_most: 1.00005 },
      { at_most: 1 },
      { below: 1 },
      { below: 0.99999 },
      { at_most: 0.7 },
    ].map(share),
  ).toMatchInlineSnapshot(`
    [
      "less than 3% above the baseline",
      "at most 0.005% above the baseline",
      "no higher than the baseline",
      "below the baseline",
      "more than 0.001% below the baseline",
      "at least 30% below the baseline",
    ]
  `)
})

describe('a number of which only the experiment knows which way is good', () => {
  const accuracy = { metric: 'evaluation.acc', statistic: 'difference', at_least: -0.0125 }
  const found = (estimate: number, bounds: { lower: number; upper: number }) =>
    ({
      estimate,
      bounds,
      pairs: 4,
      confidence: { lower: 0.95, upper: 0.95 },
      values: [],
      scale: 'linear',
    }) as const

  test('is asked with what its limit takes for better', () => {
    const asked = [accuracy, { ...accuracy, statistic: 'ratio', at_least: 0.99 }].map((gate) =>
      gateQuestion(aGate({ acc: gate })),
    )
    expect(asked).toMatchInlineSnapshot(`
      [
        "acc >= -0.0125 (required): optimized - baseline evaluation.acc (more is better), mean of the paired differences; needs metrics.acc in evaluation",
        "acc >= 0.990x (required): optimized / baseline evaluation.acc (more is better), mean of the paired ratios; at most 1% below the baseline; needs metrics.acc in evaluation",
      ]
    `)
    const share = (at_least: number) =>
      gateQuestion(aGate({ acc: { ...accuracy, statistic: 'ratio', at_least } })).split('; ')[1]
    expect([1, 1.2].map(share)).toEqual(['no lower than the baseline', 'at least 20% above the baseline'])
    const { at_least: _, ...less } = accuracy
    expect(gateQuestion(aGate({ acc: { ...less, below: 0.01 } }))).toContain(
      'evaluation.acc (less is better)',
    )
  })

  test('has its limit and its bounds in its row', () => {
    const evidence = found(-0.004, { lower: -0.012499, upper: 0.0031 })
    expect(gateCells(aVerdict(aGate({ acc: accuracy }), { evidence })).slice(3)).toMatchInlineSnapshot(`
      [
        "-0.00400",
        "-0.0125 to +0.0031",
        ">= -0.0125",
        "passed",
      ]
    `)
  })

  test('may have moved further than the limit, of which nobody says that it is better', () => {
    const evidence = found(0.025, { lower: 0.02, upper: 0.03 })
    const precision = {
      detectable: 0.001,
      toDecide: { status: 'decided' },
      isEquivalent: false,
    } as const
    const meaning = (gate: object) =>
      gateMeaning({ ...aVerdict(aGate({ acc: gate }), { evidence }), precision }).split(
        'Not proven equivalent: ',
      )[1]
    const { at_least: _, ...less } = accuracy
    expect([accuracy, { ...less, at_most: 0.05 }].map(meaning)).toEqual([
      'evaluation.acc may be higher by more than the limit.',
      'evaluation.acc may be lower by more than the limit.',
    ])
    expect(meaning({ metric: 'val_loss', statistic: 'difference', below: 0.05 })).toBe(
      'the optimized model may be better by more than the limit.',
    )
  })
})

test('a question says what a level needs, and not that it goes by an estimate, which it always does', () => {
  const worst = aGate({
    worst: { metric: 'time_to_quality_seconds', statistic: 'maximum', below: 9, evidence: 'point' },
  })
  expect(gateQuestion(worst)).toMatchInlineSnapshot(
    `"worst < 9.00 s (required): seconds until the held-out loss that the baseline ends with, the largest of all ranks and optimized runs; needs evaluations during the training"`,
  )
})
