// A run without a time to quality is named, with what it ended with or what it did not report.
import { expect, test } from 'vitest'
import { whyNoTimeToQuality } from '../../../src/judge/gates/no-time-to-quality.ts'
import type { NoTimeToQuality } from '../../../src/measure/metrics/time-to-quality.ts'
import { aRunSummary } from '../../fixtures/builders.ts'

const METRIC = 'time_to_each_quality_seconds'
const told = (...whys: (NoTimeToQuality | null)[]) =>
  whyNoTimeToQuality(
    whys.map((why, at) =>
      aRunSummary({ runId: `run-${at + 1}`, noTimeToQuality: why === null ? {} : { [METRIC]: why } }),
    ),
    METRIC,
  )

test('nothing is missing where every run has a time, or the metric is none', () => {
  expect(told()).toBeNull()
  expect(told(null, null)).toBeNull()
  const run = aRunSummary({ noTimeToQuality: { [METRIC]: { kind: 'no parts' } } })
  expect(whyNoTimeToQuality([run], 'val_loss')).toBeNull()
})

test('the first that is not as good at its end stands there with each loss, in as many digits as tell', () => {
  const losses = [
    { name: 'val_loss', value: 0.0021, limit: 0.001137 },
    { name: 'val_loss/darcy2d', value: 0.00222249, limit: 0.00222231 },
  ]
  expect(told(null, { kind: 'ends above', losses }, { kind: 'ends above', losses: [] })).toBe(
    '2 of 3 runs end with a higher held-out loss than their baseline: run-2 at val_loss 0.002100 (baseline 0.001137), val_loss/darcy2d 0.0022225 (baseline 0.0022223)',
  )
})

test('two losses that are apart by the last bit are written out', () => {
  const losses = [{ name: 'val_loss', value: 0.1 + 0.2, limit: 0.3 }]
  expect(told({ kind: 'ends above', losses })).toBe(
    '1 of 1 runs end with a higher held-out loss than their baseline: run-1 at val_loss 0.30000000000000004 (baseline 0.29999999999999999)',
  )
})

test('what a trainer did not report is counted with its remedy', () => {
  const evaluation = { event: 'evaluation', step: 1, samples_seen: 320, val_loss: 0.1 } as const
  expect(told({ kind: 'evaluated once' }, { kind: 'evaluated once' }, { kind: 'no parts' })).toMatch(
    /^2 of 3 runs .*only at the end\. Evaluate during/,
  )
  expect(told({ kind: 'no parts' })).toMatch(/^1 of 1 runs .*val_loss\/<part>/)
  expect(told(null, { kind: 'misplaced', evaluation })).toMatch(
    /^1 of 2 runs .*misplaced.* run-2 .*320 samples at step 1\b.*optimizer steps/,
  )
})

test('parts that a run lacks, or has besides, are named, as far as there are few', () => {
  const other = (missing: string[], further: string[]) => told({ kind: 'other parts', missing, further })
  const told1 = '1 of 1 runs end with other parts than their baseline: run-1'
  expect(other(['val_loss/a'], ['val_loss/b'])).toBe(
    `${told1} does not report val_loss/a and reports val_loss/b in addition`,
  )
  expect(other(['val_loss/a'], [])).toBe(`${told1} does not report val_loss/a`)
  expect(other([], ['val_loss/b'])).toBe(`${told1} reports val_loss/b in addition`)
  expect(other([...'abcdef'], [])).toBe(`${told1} does not report a, b, c, d, e, f`)
  expect(other([...'abcdefgh'], [])).toBe(`${told1} does not report a, b, c, d, e, f and 2 more`)
})
