// A plan says how many launches to expect, for a clear pass, a clear failure and a case at the limit.
import { expect, test } from 'vitest'
import { expectedLaunches } from '../../../src/judge/looks/expected-launches.ts'
import { expectedLines } from '../../../src/report/expected-launches.ts'
import { anExperiment } from '../../fixtures/builders.ts'

const required = { severity: 'required', evidence: 'interval' } as const
const design = { blocks: [2, 4, 6, 8], warm_up_launches: 1, seed: 0 }
const gates = { speedup: { at_least: 3, ...required } }

test('a clear failure takes the fewest, and a borderline case not all', () => {
  const launches = expectedLaunches(anExperiment({ design, gates }))?.cases.map((one) => one.launches) ?? []
  const [pass = 0, failure = 0, borderline = 0] = launches
  expect(failure).toBeLessThan(8)
  expect(pass).toBeGreaterThan(failure)
  expect(pass).toBeLessThan(11)
  expect(borderline).toBeGreaterThan(pass)
  expect(borderline).toBeLessThan(18)
})

test('a regression passes clearly when nothing has changed', () => {
  const regression = { speedup: { at_least: 0.98, ...required } }
  const truths = expectedLaunches(anExperiment({ design, gates: regression }))?.cases.map(
    ({ truth }) => truth,
  )
  expect(truths?.[0]).toBe(1)
  expect(truths?.[1]).toBeLessThan(0.9)
  const ratio = {
    time: { metric: 'seconds_per_sample', statistic: 'ratio', at_most: 1.02, ...required },
  } as const
  expect(expectedLaunches(anExperiment({ design, gates: ratio }))?.cases[0]?.truth).toBe(1)
})

test.each([
  ['a single look', { design: { ...design, blocks: 4 }, gates }],
  ['no required gate on time', { design, gates: { loss_delta: { below: 0.001, ...required } } }],
])('with %s nothing is said', (_, difference) => {
  expect(expectedLaunches(anExperiment(difference))).toBeNull()
  expect(expectedLines(anExperiment(difference))).toEqual([])
})

test('the lines name gate, assumption and cases', () => {
  expect(expectedLines(anExperiment({ design, gates })).join('\n')).toMatch(
    /scatter by 2\.0%.*speedup[\s\S]*clear pass[\s\S]*clear failure[\s\S]*borderline/,
  )
})
