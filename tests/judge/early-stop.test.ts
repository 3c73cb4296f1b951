// What further launches cannot mend ends an experiment; what more runs may show otherwise does not.
import { describe, expect, test } from 'vitest'
import { checkComparability } from '../../src/judge/checks/all.ts'
import type { Check } from '../../src/judge/checks/check.ts'
import { earlyStop } from '../../src/judge/early-stop.ts'
import { machineCheck } from '../../src/judge/machine/machine-check.ts'
import { aGate, anExperiment, aRunSummary } from '../fixtures/builders.ts'

const experiment = anExperiment()
const aRun = aRunSummary({ block: 1, variant: 'baseline' })
const tooFew = 2 * aRun.warmUpSteps - 1
const short = { ...aRun, steps: tooFew, attemptedUpdates: tooFew }
const judged = (...runs: (typeof aRun)[]) => ({
  runs,
  machineChecks: [],
  verdict: { checks: checkComparability({ experiment, measured: runs }), gates: [] },
})
const stopped = (name: Check['name'], status: Check['status']) => ({
  runs: [aRun],
  machineChecks: [],
  verdict: { checks: [{ name, status, detail: '' }], gates: [] },
})

test('runs that can be compared go on, and so does what has not begun', () => {
  expect(earlyStop(judged(aRun))).toBe(null)
  expect(earlyStop(judged())).toBe(null)
  expect(earlyStop(stopped('completion', 'inconclusive'))).toBe(null)
})

test.each([
  ['another seed than was planned', { reportedSeed: aRun.seed + 1 }],
  ['no evaluation at the end', { evaluatedAfterSamples: aRun.samples / 2 }],
  ['more step seconds than the process took', { trainingSeconds: aRun.wallSeconds + 1 }],
  ['longer evaluations than its process', { successiveSeconds: aRun.wallSeconds + 1 }],
  ['too few steps', { steps: short.steps }],
])('one run with %s is enough', (_, wrong) => {
  expect(earlyStop(judged({ ...aRun, ...wrong }))).toBe('incomparable')
})

test.each([
  ['samples', { samples: aRun.samples + 16, reportedSamples: aRun.samples + 16 }],
  ['devices', { deviceNames: ['another'] }],
])('two runs of other %s are enough', (_, other) => {
  expect(earlyStop(judged(aRun, { ...aRun, variant: 'optimized', ...other }))).toBe('incomparable')
})

test('steps that are too few by what several runs of a variant share may be enough by those of more', () => {
  const other = { ...short, variant: 'optimized' } as const
  expect(earlyStop(judged(short, other, short, other))).toBe('incomparable')
  expect(earlyStop(judged(short, short, short))).toBe(null)
})

test('a launch that failed is enough, and said before all else', () => {
  expect(earlyStop(stopped('completion', 'failed'))).toBe('failed')
})

test('so is what the machine did to a run, and what it only warns of is not', () => {
  const machine = (status: 'failed' | 'warned') => ({
    ...judged(aRun),
    machineChecks: [machineCheck('GPU sharing', { status, detail: '' })],
  })
  expect(earlyStop(machine('failed'))).toBe('incomparable')
  expect(earlyStop(machine('warned'))).toBe(null)
})

test('a warm-up launch is none of the runs that are compared', () => {
  const warmUp = { ...short, purpose: 'warm-up', block: null } as const
  expect(earlyStop({ ...judged(short, short), runs: [warmUp, short, short] })).toBe('incomparable')
})

describe('a required gate without a number', () => {
  const unmeasured = { gate: aGate(), status: 'not-measured', blocks: 1 } as const
  const withGate = (gate: Partial<typeof unmeasured> | object, of = judged(aRun)) => ({
    ...of,
    verdict: { ...of.verdict, gates: [{ ...unmeasured, ...gate }] },
  })

  test('is enough, after the first block', () => {
    expect(earlyStop(withGate({}))).toBe('unmeasured')
    expect(earlyStop(withGate({ blocks: 0 }))).toBe(null)
    expect(earlyStop(withGate({ status: 'inconclusive' }))).toBe(null)
  })

  test.each(['warn', 'info'] as const)('is none as %s', (severity) => {
    expect(earlyStop(withGate({ gate: aGate({ severity }) }))).toBe(null)
  })

  test('comes after all that makes runs incomparable, and may have one where those of more runs are timed otherwise', () => {
    expect(earlyStop(withGate({}, judged({ ...aRun, reportedSeed: aRun.seed + 1 })))).toBe('incomparable')
    expect(earlyStop(withGate({}, stopped('completion', 'failed')))).toBe('failed')
    expect(earlyStop(withGate({}, judged(short, short, short)))).toBe(null)
  })
})

test('what the whole experiment shows is asked at its end', () => {
  expect(earlyStop(stopped('same code', 'failed'))).toBe('incomparable')
  for (const name of ['evaluation', 'noise floor', 'a/a'] as const)
    expect(earlyStop(stopped(name, 'failed'))).toBe(null)
})
