// What is not read back cannot be compared: the checks say so, and fail where only some runs have it.
import { describe, expect, test } from 'vitest'
import { checkComparability } from '../../../src/judge/checks/all.ts'
import type { Check } from '../../../src/judge/checks/check.ts'
import type { RunSummary } from '../../../src/measure/summary.ts'
import { ALL_REPORTED } from '../../../src/read/facts.ts'
import { anExperiment, aRunSummary } from '../../fixtures/builders.ts'

const VARIANTS = ['baseline', 'optimized'] as const

function checkOf(
  name: Check['name'],
  difference: Partial<RunSummary>,
  of: readonly (typeof VARIANTS)[number][] = VARIANTS,
  experiment = anExperiment(),
): Check | undefined {
  const measured = VARIANTS.map((variant) =>
    aRunSummary({ variant, ...(of.includes(variant) ? difference : {}) }),
  )
  const configs = { baseline: { batch: 512 }, optimized: { batch: 512 } }
  return checkComparability({ experiment, measured, configs }).find((check) => check.name === name)
}

const UNKNOWN: readonly (readonly [string, Partial<RunSummary>])[] = [
  ['parameters', { parameterCount: null, facts: { ...ALL_REPORTED, parameters: 'unknown' } }],
  ['training data', { dataHash: null, facts: { ...ALL_REPORTED, training_data: 'unknown' } }],
  ['held-out set', { evaluationSamples: null, facts: { ...ALL_REPORTED, held_out_set: 'unknown' } }],
  ['config', { config: null, facts: { ...ALL_REPORTED, config: 'unknown' } }],
]

describe('equal work', () => {
  test.each(UNKNOWN)('says that the %s were not compared', (name, difference) => {
    const check = checkOf('equal work', difference)
    expect(check?.status).toBe('passed')
    expect(check?.detail).toMatch(new RegExp(`not compared: .*${name}`))
  })

  test.each(UNKNOWN)('is not given where one variant alone has its %s', (_, difference) => {
    expect(checkOf('equal work', difference, ['optimized'])?.status).toBe('failed')
  })

  test('does not need a seed that nobody reads back', () => {
    const facts = { ...ALL_REPORTED, seed: 'unknown' as const }
    expect(checkOf('equal work', { reportedSeed: null, facts })).toMatchObject({
      status: 'passed',
      detail: expect.stringContaining('seed'),
    })
  })

  test('is not measured without samples', () => {
    const facts = { ...ALL_REPORTED, samples: 'unknown' as const }
    expect(checkOf('equal work', { facts })).toMatchObject({
      status: 'not-measured',
      detail: expect.stringContaining('unknown number of samples'),
    })
  })

  test('needs the number of processes where there are several', () => {
    expect(checkOf('equal work', { worldSize: null })).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('an unknown number of processes, expected 2'),
    })
    const experiment = anExperiment()
    const alone = { ...experiment, launch: { ...experiment.launch, nproc_per_node: 1 } }
    expect(checkOf('equal work', { worldSize: null }, VARIANTS, alone)?.status).toBe('passed')
    expect(checkOf('equal work', { worldSize: 2 }, VARIANTS, alone)?.status).toBe('failed')
  })

  test('is of one format of metrics', () => {
    expect(checkOf('equal work', { reader: 'another' })?.status).toBe('passed')
    expect(checkOf('equal work', { reader: 'another' }, ['optimized'])).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('readers of metrics differ'),
    })
  })
})

describe('the same machine', () => {
  test('is not measured where neither devices nor versions are read back', () => {
    expect(checkOf('same machine', { deviceNames: [], versions: {} })).toMatchObject({
      status: 'not-measured',
      detail: 'not read back: devices and versions',
    })
  })

  test('says which of both is missing', () => {
    expect(checkOf('same machine', { versions: {} })).toMatchObject({
      status: 'passed',
      detail: expect.stringContaining('not read back: versions'),
    })
  })

  test('is not given where one variant alone reads them back', () => {
    expect(checkOf('same machine', { deviceNames: [] }, ['optimized'])?.status).toBe('failed')
  })
})

describe('the last evaluation', () => {
  const of = (seen: number, variants?: readonly (typeof VARIANTS)[number][]) =>
    checkOf('equal work', { samples: 1000, reportedSamples: 1000, evaluatedAfterSamples: seen }, variants)

  test('may come up to 2% before the end, if all runs have it there; the check says where', () => {
    expect(of(1000)?.detail).not.toContain('evaluated')
    expect(of(980)).toMatchObject({
      status: 'passed',
      detail: expect.stringContaining('after 980 of 1000 samples'),
    })
    expect(of(979)?.status).toBe('failed')
  })

  test('comes after no more samples than there are', () => {
    expect(of(1001)?.status).toBe('failed')
  })

  test('is after the same samples in all runs', () => {
    const measured = VARIANTS.map((variant) =>
      aRunSummary({ variant, evaluatedAfterSamples: variant === 'baseline' ? 640 : 639 }),
    )
    const [check] = checkComparability({ experiment: anExperiment(), measured })
    expect(check).toMatchObject({ status: 'failed', detail: expect.stringContaining('639 of 640') })
  })
})
