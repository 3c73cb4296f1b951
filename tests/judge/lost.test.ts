// What further launches cannot mend ends an experiment; what more runs may show otherwise does not.
import { expect, test } from 'vitest'
import { isLost } from '../../src/judge/lost.ts'
import { type Check, checkValidity } from '../../src/judge/validity.ts'
import { anExperiment, aRunSummary } from '../fixtures/builders.ts'

const experiment = anExperiment()
const aRun = aRunSummary({ block: 1, variant: 'baseline' })
const short = { ...aRun, steps: 2 * aRun.warmUpSteps - 1 }
const judged = (...runs: (typeof aRun)[]) => ({
  runs,
  verdict: { checks: checkValidity(experiment, runs) },
})
const stopped = (name: Check['name'], state: Check['state']) => ({
  runs: [aRun],
  verdict: { checks: [{ name, state, detail: '' }] },
})

test('runs that can be compared go on, and so does what has not begun', () => {
  expect(isLost(judged(aRun))).toBe(false)
  expect(isLost(judged())).toBe(false)
  expect(isLost(stopped('completion', 'inconclusive'))).toBe(false)
})

test.each([
  ['another seed than was planned', { reportedSeed: aRun.seed + 1 }],
  ['no evaluation at the end', { evaluatedAfterSamples: aRun.samples - 1 }],
  ['more step seconds than the process took', { trainingSeconds: aRun.wallSeconds + 1 }],
  ['too few steps', { steps: short.steps }],
])('one run with %s is enough', (_, wrong) => {
  expect(isLost(judged({ ...aRun, ...wrong }))).toBe(true)
})

test.each([
  ['samples', { samples: aRun.samples + 16, reportedSamples: aRun.samples + 16 }],
  ['devices', { deviceNames: ['another'] }],
])('two runs of other %s are enough', (_, other) => {
  expect(isLost(judged(aRun, { ...aRun, variant: 'optimized', ...other }))).toBe(true)
})

test('steps that are too few by what several runs share may be enough by those of more', () => {
  expect(isLost(judged(short, short))).toBe(true)
  expect(isLost(judged(short, short, short))).toBe(false)
})

test('a warm-up launch is none of the runs that are compared', () => {
  const warmUp = { ...short, block: null }
  expect(isLost({ ...judged(short, short), runs: [warmUp, short, short] })).toBe(true)
})

test('what the whole experiment shows is asked at its end', () => {
  expect(isLost(stopped('same code', 'failed'))).toBe(true)
  for (const name of ['evaluation', 'noise floor', 'a/a'] as const)
    expect(isLost(stopped(name, 'failed'))).toBe(false)
})
