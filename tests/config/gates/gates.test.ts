// A gate is known or spelled out, has one limit, and a limit that can be proven.
import { describe, expect, test } from 'vitest'
import { gatesOf } from '../../../src/config/experiment.ts'
import { KNOWN_GATES } from '../../../src/config/gates/gates.ts'
import { parseExperiment } from '../../../src/config/parse-experiment.ts'
import { refusal } from '../../fixtures/refusal.ts'

function gates(list: string, launch = '{}') {
  const text = `
name: x
kind: same-work
trainer: { module: trainer }
launch: ${launch}
variants: { baseline: { config: a.yaml }, optimized: { config: b.yaml } }
gates: ${list}
`
  return gatesOf(parseExperiment(text, 'x.yaml'))
}
const refused = (list: string) => refusal(() => gates(list))

describe('a gate', () => {
  test('of a known name has its own metric and statistic', () => {
    const known =
      '{ speedup: { at_least: 2 }, total_speedup: { at_least: 1 }, loss_delta: { below: 1e-3 }, nrmse_ratio: { at_most: 1.03 }, peak_memory_gb: { below: 50 } }'
    expect(
      gates(known).map(({ name, metric, statistic }) => `${name}: ${statistic} of ${metric}`),
    ).toMatchInlineSnapshot(`
      [
        "speedup: speedup of seconds_per_sample",
        "total_speedup: speedup of total_seconds",
        "loss_delta: difference of val_loss",
        "nrmse_ratio: ratio of evaluation.nrmse",
        "peak_memory_gb: maximum of peak_memory_reserved_bytes",
      ]
    `)
  })

  test('of its own name spells metric and statistic out', () => {
    expect(
      gates(
        '{ rollout: { metric: evaluation.nrmse_rollout, statistic: ratio, at_most: 1.05, severity: warn, evidence: point } }',
      ),
    ).toEqual([
      {
        name: 'rollout',
        metric: 'evaluation.nrmse_rollout',
        statistic: 'ratio',
        direction: 'at_most',
        limit: 1.05,
        pricePerGpuHour: null,
        severity: 'warn',
        evidence: 'point',
        ifReported: false,
      },
    ])
  })

  test('may wait for its metric, but not all of them', () => {
    const waiting = 'nrmse_ratio: { at_most: 1.03, if_reported: true }'
    expect(gates(`{ speedup: { at_least: 3 }, ${waiting} }`)?.map(({ ifReported }) => ifReported)).toEqual([
      false,
      true,
    ])
    expect(refused(`{ ${waiting} }`)).toContain('if_reported')
  })

  test('that is unknown is answered with the known ones', () => {
    const answer = refused('{ speed_up: { at_least: 3 } }')
    expect(answer).toContain('x.yaml: gates.speed_up: unknown gate')
    for (const { name } of KNOWN_GATES) expect(answer).toContain(name)
    expect(refused('{ constructor: { below: 3 } }')).toContain('unknown gate')
    expect(refused('{ __proto__: { at_least: 3 }, speedup: { at_least: 3 } }')).toContain(
      'gates.__proto__: unknown key; no gate',
    )
  })

  test('that is known takes no other metric', () => {
    expect(refused('{ speedup: { metric: total_seconds, at_least: 3 } }')).toMatch(
      /^x\.yaml: gates\.speedup: got a metric or statistic, .*Leave both out, .*name$/,
    )
  })

  test('has a metric that is reported', () => {
    const answer = refused('{ mine: { metric: loss, statistic: ratio, at_most: 1 } }')
    expect(answer).toContain('x.yaml: gates.mine.metric: got "loss", expected one of seconds_per_sample, ')
    expect(answer).toContain("or evaluation.<a metric of the trainer's evaluation events>")
    expect(answer).not.toContain('sm_cycles_per_sample')
    expect(refused('{ mine: { metric: evaluation., statistic: ratio, at_most: 1 } }')).toContain(
      'got "evaluation."',
    )
  })

  test('of memory is in GB, not in bytes, which would pass whatever is measured', () => {
    expect(refused('{ peak_memory_gb: { below: 50e9 } }')).toMatch(
      /^x\.yaml: gates\.peak_memory_gb\.below: got 50000000000, expected .*GB such as 50\b/,
    )
    expect(gates('{ peak_memory_gb: { below: 9999 } }')).toHaveLength(1)
  })

  test('of a share is one, not percent, of which less than 5 times all would be asked', () => {
    expect(refused('{ data_wait_share: { below: 5 } }')).toMatch(
      /^x\.yaml: gates\.data_wait_share\.below: got 5, expected a share, .*0\.05/,
    )
    const ratio = '{ mine: { metric: data_wait_share, statistic: ratio, at_most: 5 } }'
    expect(gates(ratio)).toHaveLength(1)
  })

  test('of a speedup is of a time or a cost, since it grows as an accuracy falls', () => {
    const speedup = (metric: string) =>
      `{ mine: { metric: ${metric}, statistic: speedup, at_least: 0.97, severity: info } }`
    expect(refused(speedup('evaluation.acc'))).toMatch(
      /^x\.yaml: gates\.mine\.statistic: got speedup, expected ratio with at_least .*at_most .*evaluation\.acc is not a time.*_seconds$/,
    )
    expect(refused(speedup('val_loss'))).toMatch(
      /^x\.yaml: gates\.mine\.statistic: got speedup, expected ratio with at_most: val_loss is not a time$/,
    )
    expect(refused(speedup('gpu_utilization'))).toContain('expected ratio with at_least')
    for (const metric of ['evaluation.latency_seconds', 'evaluation.seconds', 'gpu_hours', 'total_seconds'])
      expect(gates(speedup(metric))).toHaveLength(1)
  })

  test('has a plain name', () => {
    expect(refused('{ "My | gate": { below: 3 } }')).toMatch(
      /^x\.yaml: gates\.My \| gate: got \{"below":3\}, expected .*lowercase .*my_gate$/,
    )
  })

  test('has known severities, evidence and keys', () => {
    expect(refused('{ speedup: { at_least: 3, severity: high } }')).toMatchInlineSnapshot(
      `"x.yaml: gates.speedup.severity: got "high", expected one of required, warn, info"`,
    )
    expect(refused('{ speedup: { at_least: 3, evidence: none } }')).toMatchInlineSnapshot(
      `"x.yaml: gates.speedup.evidence: got "none", expected one of interval, point"`,
    )
    expect(refused('{ speedup: { atleast: 3 } }')).toMatch(
      /^x\.yaml: gates\.speedup\.atleast: unknown key .*at_least, at_most, below/,
    )
    expect(refused('{ speedup: 3 }')).toMatchInlineSnapshot(
      `"x.yaml: gates.speedup: got 3, expected a mapping"`,
    )
  })
})

describe('the gates of a plan can be written down:', () => {
  test('loss within 5%, NRMSE at most +0.01, utilisation at least 85%, data wait under 5%', () => {
    const plan =
      '{ loss_ratio: { at_most: 1.05 }, nrmse_delta: { at_most: 0.01 }, gpu_utilization: { at_least: 0.85, severity: warn }, data_wait_share: { below: 0.05 } }'
    expect(
      gates(plan).map(
        ({ name, statistic, metric, direction, limit }) =>
          `${name}: ${statistic} of ${metric} ${direction} ${limit}`,
      ),
    ).toEqual([
      'loss_ratio: ratio of val_loss at_most 1.05',
      'nrmse_delta: difference of evaluation.nrmse at_most 0.01',
      'gpu_utilization: minimum of gpu_utilization at_least 0.85',
      'data_wait_share: maximum of data_wait_share below 0.05',
    ])
  })

  test('memory allocated and reserved, no allocation retry, energy per sample', () => {
    const machine =
      '{ peak_memory_allocated_gb: { below: 40 }, allocation_retries: { at_most: 0 }, energy_per_sample: { below: 6 }, energy_ratio: { at_most: 0.5 } }'
    expect(gates(machine).map(({ statistic, metric }) => `${statistic} of ${metric}`)).toEqual([
      'maximum of peak_memory_allocated_bytes',
      'maximum of allocation_retries',
      'maximum of energy_joules_per_sample',
      'ratio of energy_joules_per_sample',
    ])
  })

  test('utilisation, which saturates, is never required', () => {
    expect(refused('{ gpu_utilization: { at_least: 0.85 } }')).toMatch(
      /^x\.yaml: gates\.gpu_utilization\.severity: got required, expected warn or info: .*100%$/,
    )
    expect(refused('{ busy: { metric: gpu_utilization, statistic: ratio, at_least: 0.9 } }')).toContain(
      'gates.busy.severity: got required',
    )
  })

  test('cost of a run, with the price of a GPU hour', () => {
    const limit = '{ cost_per_run: { below: 9.45 } }'
    expect(gates(limit, '{ price_per_gpu_hour: 1.89 }')).toMatchObject([
      { metric: 'gpu_hours', statistic: 'maximum', limit: 9.45, pricePerGpuHour: 1.89 },
    ])
    expect(refused(limit)).toMatchInlineSnapshot(
      `"x.yaml: gates.cost_per_run: the price of one GPU for an hour is missing. Set launch.price_per_gpu_hour or the input price-per-gpu-hour"`,
    )
  })
})

describe('a limit', () => {
  test('is one, not none and not two', () => {
    expect(refused('{ speedup: {} }')).toMatchInlineSnapshot(
      `"x.yaml: gates.speedup: got 0 limits, expected exactly one of at_least, at_most, below"`,
    )
    expect(refused('{ loss_delta: { below: 0.1, at_most: 0.1 } }')).toMatchInlineSnapshot(
      `"x.yaml: gates.loss_delta: got 2 limits, expected exactly one of at_least, at_most, below"`,
    )
  })

  test('stands on the good side', () => {
    expect(refused('{ speedup: { at_most: 3 } }')).toMatch(
      /^x\.yaml: gates\.speedup\.at_most: got at_most, expected at_least: .*better$/,
    )
    expect(refused('{ loss_delta: { at_least: 0.001 } }')).toMatch(
      /^x\.yaml: gates\.loss_delta\.at_least: got at_least, expected at_most or below: .*val_loss is better$/,
    )
    expect(refused('{ peak_memory_gb: { at_least: 50 } }')).toMatch(
      /^x\.yaml: gates\.peak_memory_gb\.at_least: got at_least, expected at_most or below: .*better$/,
    )
  })

  test('of a ratio or difference stands on either side, where only the experiment knows which way is good', () => {
    const limits =
      '{ a: { metric: evaluation.acc, statistic: difference, at_least: -0.01 }, b: { metric: evaluation.acc, statistic: ratio, at_least: 0.99 }, c: { metric: evaluation.gap, statistic: difference, below: 0.01 }, d: { metric: evaluation.gap, statistic: ratio, at_most: 1.01 } }'
    expect(gates(limits).map(({ direction, limit }) => `${direction} ${limit}`)).toEqual([
      'at_least -0.01',
      'at_least 0.99',
      'below 0.01',
      'at_most 1.01',
    ])
  })

  test.each([
    ['val_loss', 'difference', 'at_least: -0.1', 'at_most or below: a lower'],
    ['evaluation.nrmse', 'ratio', 'at_least: 0.9', 'at_most or below: a lower'],
    ['evaluation.val_loss', 'ratio', 'at_least: 0.9', 'at_most or below: a lower'],
    ['evaluation.nrmse/darcy2d', 'ratio', 'at_least: 0.9', 'at_most or below: a lower'],
    ['evaluation.val_loss/darcy2d', 'difference', 'at_least: -0.1', 'at_most or below: a lower'],
    ['evaluation.latency_seconds', 'ratio', 'at_least: 0.9', 'at_most or below: a lower'],
    ['total_seconds', 'ratio', 'at_least: 0.9', 'at_most or below: a lower'],
    ['gpu_utilization', 'difference', 'at_most: 0.1', 'at_least: a higher'],
  ])('of a %s that is known takes no other side: %s, %s', (metric, statistic, limit, takes) => {
    const gate = `{ metric: ${metric}, statistic: ${statistic}, ${limit}, severity: info }`
    expect(refused(`{ mine: ${gate} }`)).toContain(`, expected ${takes} ${statistic} of ${metric} is better`)
  })

  test.each([
    ['val_loss', 'minimum', 'at_least: 1.0e-9', 'maximum with at_most or below: less'],
    ['gpu_utilization', 'maximum', 'at_most: 1', 'minimum with at_least: more'],
  ])(
    'of a level of %s takes no %s, which says nothing of the worst run',
    (metric, statistic, limit, text) => {
      const gate = `{ metric: ${metric}, statistic: ${statistic}, ${limit}, severity: info }`
      expect(refused(`{ mine: ${gate} }`)).toBe(
        `x.yaml: gates.mine.statistic: got ${statistic}, expected ${text} ${metric} is better`,
      )
    },
  )

  test('of a difference where more is better is how far down the optimized may be', () => {
    const reason = 'below 0, such as -0.01: with no margin, equal models fail half of the time'
    for (const limit of [0, 0.01])
      expect(refused(`{ a: { metric: evaluation.acc, statistic: difference, at_least: ${limit} } }`)).toBe(
        `x.yaml: gates.a.at_least: got ${limit}, expected a number ${reason}`,
      )
    expect(refused('{ a: { metric: evaluation.acc, statistic: ratio, at_least: -0.01 } }')).toContain(
      'expected a number above 0',
    )
    const busy = 'metric: gpu_utilization, statistic: difference, severity: info'
    expect(gates(`{ a: { ${busy}, at_least: -0.05 } }`)).toHaveLength(1)
    expect(refused(`{ a: { ${busy}, at_least: -5 } }`)).toContain('expected a share')
  })

  test('of a level may be 0: none at all', () => {
    expect(gates('{ wait: { metric: data_wait_share, statistic: maximum, at_most: 0 } }')[0]?.limit).toBe(0)
    for (const comparison of ['loss_delta', 'nrmse_ratio'])
      expect(refused(`{ ${comparison}: { at_most: 0 } }`)).toContain('expected a number above 0')
    expect(refused('{ wait: { metric: data_wait_share, statistic: maximum, below: 0 } }')).toContain(
      'expected a number above 0',
    )
    expect(refused('{ gpu_utilization: { at_least: 0 } }')).toContain('expected a number above 0')
  })

  test('is above 0', () => {
    expect(refused('{ speedup: { at_least: -3 } }')).toMatchInlineSnapshot(
      `"x.yaml: gates.speedup.at_least: got -3, expected a number above 0"`,
    )
    expect(refused('{ loss_delta: { below: 0 } }')).toMatch(
      /^x\.yaml: gates\.loss_delta\.below: got 0, expected a number above 0: with no margin/,
    )
  })

  test('is a finite number', () => {
    expect(refused('{ speedup: { at_least: .inf } }')).toMatchInlineSnapshot(
      `"x.yaml: gates.speedup.at_least: got Infinity, expected a finite number"`,
    )
    expect(refused('{ speedup: { at_least: "3.0" } }')).toMatchInlineSnapshot(
      `"x.yaml: gates.speedup.at_least: got "3.0", expected a finite number"`,
    )
    expect(refused('{ speedup: { at_least: null } }')).toMatchInlineSnapshot(
      `"x.yaml: gates.speedup.at_least: got null, expected a finite number"`,
    )
  })
})
