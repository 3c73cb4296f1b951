// A gate passes only where the facts that it rests on come from sources that can carry it.
import { describe, expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import { isDecided } from '../../../src/judge/verdict.ts'
import type { RunStart } from '../../../src/read/events.ts'
import type { Fact, Provenance } from '../../../src/read/facts.ts'
import type { Result } from '../../../src/record/result.ts'
import { anExperiment, aRequest, launchedPlan, type MetricsDifference } from '../../fixtures/builders.ts'

const GATES = {
  speedup: { at_least: 3 },
  cost: { metric: 'gpu_hours', statistic: 'speedup', at_least: 0.5 },
  loss_delta: { below: 0.001 },
  loss_ratio: { at_most: 1.03 },
  peak_memory_gb: { below: 50 },
} as const

const experiment = anExperiment({
  gates: Object.fromEntries(
    Object.entries(GATES).map(([name, gate]) => [
      name,
      { severity: 'required' as const, evidence: 'interval' as const, ...gate },
    ]),
  ),
})

const END = { peak_memory_reserved_bytes: [1e9, 1e9] }
const HASH = 'a'.repeat(64)
const DATA = {
  before: { baseline: HASH, optimized: HASH },
  after: { baseline: HASH, optimized: HASH },
  changed: [],
}

async function resultOf(
  difference: MetricsDifference,
  { data = null }: { readonly data?: Result['data'] } = {},
): Promise<Result> {
  const asked = data === null ? experiment : { ...experiment, data: ['data'] }
  const launched = await launchedPlan(asked, () => ({ end: END, ...difference }))
  return assess(aRequest({ experiment: asked, data }), launched)
}

const withFacts = (facts: Partial<Record<Fact, Provenance>>): MetricsDifference => ({ start: { facts } })
const statesOf = ({ verdict }: Result) =>
  Object.fromEntries(verdict.gates.map(({ gate, status }) => [gate.name, status]))
const PASSED = {
  speedup: 'passed',
  cost: 'passed',
  loss_delta: 'passed',
  loss_ratio: 'passed',
  peak_memory_gb: 'passed',
}
const OPEN_QUALITY = { ...PASSED, loss_delta: 'inconclusive', loss_ratio: 'inconclusive' }
const OPEN_SPEED = { ...PASSED, speedup: 'inconclusive', cost: 'inconclusive' }

describe('samples', () => {
  test.each(['reported', 'read', 'derived', 'declared'] as const)(
    '%s let speed gates pass',
    async (source) => {
      const result = await resultOf(withFacts({ samples: source }))
      expect(statesOf(result)).toEqual(PASSED)
      expect(result.verdict.verdict).toBe('passed')
      expect(result.facts.optimized?.samples).toBe(source)
    },
  )

  test('that are unknown leave speed gates open, with the reason', async () => {
    const { verdict } = await resultOf({ samplesPerStep: null })
    expect(Object.fromEntries(verdict.gates.map(({ gate, status }) => [gate.name, status]))).toEqual(
      OPEN_SPEED,
    )
    expect(verdict.verdict).toBe('inconclusive')
    expect(verdict.reason).toContain('samples')
    expect(verdict.checks.find(({ name }) => name === 'equal work')?.status).toBe('not-measured')
  })

  test('that are unknown prove no slowdown either', async () => {
    const { verdict } = await resultOf({ samplesPerStep: null, stepSeconds: 0.08 })
    expect(verdict.gates.find(({ gate }) => gate.name === 'speedup')?.status).toBe('inconclusive')
  })
})

describe('a held-out set', () => {
  const unhashed: Partial<RunStart> = { data_hash: undefined, evaluation_samples: undefined }

  test('that is known by count and hash lets quality gates pass', async () => {
    expect(statesOf(await resultOf({}))).toEqual(PASSED)
    expect(statesOf(await resultOf(withFacts({ held_out_set: 'read' })))).toEqual(PASSED)
  })

  test.each([
    ['without its hash', { data_hash: undefined }],
    ['without its number of samples', { evaluation_samples: undefined }],
  ])('%s leaves them open', async (_, start) => {
    expect(statesOf(await resultOf({ start }))).toEqual(OPEN_QUALITY)
  })

  test('of which only the files are hashed leaves them open, since other samples may have been chosen', async () => {
    const result = await resultOf({ start: unhashed }, { data: DATA })
    expect(statesOf(result)).toEqual(OPEN_QUALITY)
    expect(result.facts.baseline).toMatchObject({ held_out_set: 'hashed', training_data: 'hashed' })
    expect(result.verdict.reason).toContain('data:')
  })

  test('that one variant reports and the other does not is a difference', async () => {
    const launched = await launchedPlan(experiment, ({ variant }) => ({
      end: END,
      start: variant === 'optimized' ? unhashed : {},
    }))
    const { verdict } = assess(aRequest({ experiment }), launched)
    expect(verdict.verdict).toBe('invalid')
    expect(verdict.reason).toContain('data hashes differ: da7a (baseline) / not reported (optimized)')
  })
})

test('a loss that came out as NaN fails, whatever it is of', async () => {
  const launched = await launchedPlan(experiment, ({ variant }) => ({
    end: END,
    start: { data_hash: undefined },
    evaluation: variant === 'optimized' ? { not_finite: ['nrmse'] } : { metrics: { nrmse: 0.1 } },
  }))
  const gates = {
    nrmse_ratio: { at_most: 1.03, severity: 'required' as const, evidence: 'interval' as const },
  }
  const { verdict } = assess(aRequest({ experiment: { ...experiment, gates } }), launched)
  expect(verdict.gates[0]?.status).toBe('failed')
})

test('no further block is launched for a gate that a missing fact leaves open', async () => {
  const { verdict } = await resultOf({ start: { data_hash: undefined } })
  expect(isDecided(verdict)).toBe(true)
  expect(verdict.gates.map(({ precision }) => precision?.toDecide.status ?? 'decided')).toEqual(
    verdict.gates.map(() => 'decided'),
  )
})
