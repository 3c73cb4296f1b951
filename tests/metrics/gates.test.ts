// Every row makes gates that an experiment can have.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { checkDirection } from '../../src/config/gates/gate-direction.ts'
import { DEFAULT_GATES, gatesFile, KNOWN_GATES, REGRESSION_GATES } from '../../src/config/gates/gates.ts'
import { readGates } from '../../src/config/gates/read-gates.ts'
import { OVERRIDE_NAMES } from '../../src/config/overrides/overrides.ts'
import { metricNamed } from '../../src/metrics/families.ts'

const action = parse(readFileSync(join(import.meta.dirname, '../../action.yml'), 'utf8'))

test('no two gates have one name', () => {
  expect(new Set(KNOWN_GATES.map(({ name }) => name)).size).toBe(KNOWN_GATES.length)
})

test.each(KNOWN_GATES)('$name compares what may be compared so', ({ metric, statistic }) => {
  const isMoreBetter =
    statistic === 'speedup' || statistic === 'minimum' || metricNamed(metric).better === 'more'
  const [right, wrong] = isMoreBetter
    ? (['at_least', 'at_most'] as const)
    : (['at_most', 'at_least'] as const)
  expect(() => checkDirection({ metric, statistic, direction: right }, 'gate')).not.toThrow()
  expect(() => checkDirection({ metric, statistic, direction: wrong }, 'gate')).toThrow()
})

test('an experiment without gates has those with a limit', () => {
  expect(DEFAULT_GATES).toEqual({
    speedup: { at_least: 3, severity: 'required', evidence: 'interval' },
    loss_delta: { below: 0.001, severity: 'required', evidence: 'interval' },
    loss_ratio: { at_most: 1.03, severity: 'required', evidence: 'interval' },
    nrmse_ratio: { at_most: 1.03, severity: 'required', evidence: 'interval', if_reported: true },
    peak_memory_gb: { below: 50, severity: 'warn', evidence: 'interval' },
  })
  expect(REGRESSION_GATES).toEqual({
    ...DEFAULT_GATES,
    speedup: { at_least: 0.98, severity: 'required', evidence: 'interval' },
  })
  for (const gates of [DEFAULT_GATES, REGRESSION_GATES])
    expect(readGates(gatesFile.parse(gates), null, 'x.yaml')).toHaveLength(5)
})

test('inputs and outputs of a gate are those of the action', () => {
  for (const { input } of KNOWN_GATES) {
    if (input === undefined) continue
    expect(OVERRIDE_NAMES).toContain(input.name)
    expect(Object.keys(action.inputs)).toContain(input.name)
  }
  for (const { output } of KNOWN_GATES)
    if (output !== undefined) expect(Object.keys(action.outputs)).toContain(output)
})
