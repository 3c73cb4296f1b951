// A look after two blocks refuses a large miss of a gate on time, and decides nothing else.
import { describe, expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import type { GatesFile } from '../../../src/config/gates/gates.ts'
import { isDecided } from '../../../src/judge/verdict.ts'
import { outcomeOf } from '../../../src/measure/outcome.ts'
import type { PlannedRun } from '../../../src/plan/plan.ts'
import { anExperiment, aRequest, launchedPlan } from '../../fixtures/builders.ts'

const required = { severity: 'required', evidence: 'interval' } as const
const SPEEDUP: GatesFile = { speedup: { at_least: 3, ...required } }

/** As after so many blocks of the default looks; scatter keeps the interval from a width of nothing. */
async function verdictAfter(blocks: number, speedup: number, gates = SPEEDUP, blocksOf = [2, 4, 6, 8]) {
  const experiment = { ...anExperiment({ design: { blocks: blocksOf } }), gates }
  const stepSeconds = ({ variant, seed }: PlannedRun) =>
    variant === 'baseline' ? 0.08 * (1 + 0.002 * seed) : 0.08 / speedup
  const launched = (await launchedPlan(experiment, (run) => ({ stepSeconds: stepSeconds(run) }))).map(
    (one) =>
      (one.outcome.run.block ?? 0) > blocks
        ? { launch: null, outcome: outcomeOf(one.outcome.run, null, null, 'decided') }
        : one,
  )
  return assess(aRequest({ experiment }), launched).verdict
}

describe('after two blocks of an experiment that may take more', () => {
  test('a speedup far below its limit fails', async () => {
    const verdict = await verdictAfter(2, 1.2)
    expect(verdict).toMatchObject({ verdict: 'failed', mayPass: false })
    expect(isDecided(verdict)).toBe(true)
  })

  test('a speedup far above it does not pass yet', async () => {
    const verdict = await verdictAfter(2, 9)
    expect(verdict.verdict).toBe('inconclusive')
    expect(verdict.gates[0]?.reason).toContain('can only fail')
    expect(isDecided(verdict)).toBe(false)
  })

  test('one that is a little below is not failed, since two runs that agree may do so by luck', async () => {
    expect((await verdictAfter(2, 2.9)).verdict).toBe('inconclusive')
  })

  test.each([
    [
      'a memory ratio',
      { metric: 'peak_memory_reserved_bytes', statistic: 'ratio', at_most: 0.5, ...required },
    ],
    ['an estimate', { metric: 'seconds_per_sample', statistic: 'speedup', at_least: 3, evidence: 'point' }],
  ] as const)('%s stays open', async (_, gate) => {
    const verdict = await verdictAfter(2, 1.2, { own: { severity: 'required', ...gate } })
    expect(verdict.verdict).toBe('inconclusive')
    expect(isDecided(verdict)).toBe(false)
  })

  test('nothing passes, with gates that require nothing either', async () => {
    const gates: GatesFile = { speedup: { at_least: 3, severity: 'info', evidence: 'interval' } }
    expect((await verdictAfter(2, 9, gates)).verdict).toBe('inconclusive')
    expect((await verdictAfter(4, 9, gates)).verdict).toBe('passed')
  })
})

test('two blocks that are all pass as before', async () => {
  expect(await verdictAfter(2, 9, SPEEDUP, [2])).toMatchObject({ verdict: 'passed', mayPass: true })
})
