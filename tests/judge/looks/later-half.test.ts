// A trend of the steps whose later half is only open is cleared up by the looks that follow.
import { describe, expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import { gatesOf } from '../../../src/config/experiment.ts'
import type { GatesFile } from '../../../src/config/gates/gates.ts'
import { compare } from '../../../src/judge/compare.ts'
import { lookRuleOf } from '../../../src/judge/looks/look-rule.ts'
import { NO_FLOORS } from '../../../src/judge/noise/noise.ts'
import { isDecided, judge } from '../../../src/judge/verdict.ts'
import { outcomeOf } from '../../../src/measure/outcome.ts'
import { NOT_REEVALUATED } from '../../../src/measure/reevaluation.ts'
import { lookAt } from '../../../src/plan/looks.ts'
import { anExperiment, aRequest, atPace, launchedPlan } from '../../fixtures/builders.ts'

const gates: GatesFile = { speedup: { at_least: 3, severity: 'required', evidence: 'interval' } }

/** As after so many blocks. `later`: speedup of each block by the later half of the steps alone. */
async function verdictAfter(blocks: number, looks: number[], later: (seed: number) => number, speedup = 3.6) {
  const experiment = { ...anExperiment({ design: { blocks: looks } }), gates }
  const launched = (await launchedPlan(experiment)).map((one) =>
    (one.outcome.run.block ?? 0) > blocks
      ? { launch: null, outcome: outcomeOf(one.outcome.run, null, null, 'decided') }
      : one,
  )
  const { runs: steady } = assess(aRequest({ experiment }), launched)
  const runs = steady.map((run) => {
    const baseline = 0.005 * (1 + 0.001 * run.seed)
    if (run.variant === 'baseline') return { ...atPace(run, baseline), laterHalfSecondsPerSample: baseline }
    const optimized = (0.005 / speedup) * (1 + 0.0005 * (run.seed % 3))
    const logTrend = 0.1 + 0.001 * (run.seed % 2)
    return { ...atPace(run, optimized), logTrend, laterHalfSecondsPerSample: baseline / later(run.seed) }
  })
  const verdict = judge({
    ...{ experiment, outcomes: launched.map(({ outcome }) => outcome), runs, floors: NO_FLOORS },
    ...{ sources: aRequest().sources, configs: null, reevaluation: NOT_REEVALUATED },
    comparison: compare(runs, gatesOf(experiment), lookRuleOf(lookAt(experiment, blocks), 0.007)),
  })
  return { verdict, steady: verdict.checks.find(({ name }) => name === 'steady state')?.status }
}

const LOOKS = [2, 4, 6, 8]
/** Open after four blocks, and beyond the limit of 3 after eight. */
const oneBelow = (seed: number) => (seed === 2 ? 2.985 : 3.06)

describe('where all steps pass a gate and their later half leaves it open', () => {
  test('the experiment goes on', async () => {
    const { verdict, steady } = await verdictAfter(4, LOOKS, oneBelow)
    expect([verdict.verdict, steady, isDecided(verdict)]).toEqual(['inconclusive', 'inconclusive', false])
    expect(verdict.reason).toContain('steady state')
  })

  test('a later look settles it', async () => {
    const { verdict, steady } = await verdictAfter(8, LOOKS, oneBelow)
    expect([verdict.verdict, steady]).toEqual(['passed', 'warned'])
  })

  test('the last look ends it as invalid', async () => {
    const { verdict } = await verdictAfter(4, [4], oneBelow)
    expect([verdict.verdict, isDecided(verdict)]).toEqual(['invalid', true])
  })
})

test('where all steps fail a gate and their later half leaves it open, the experiment goes on too', async () => {
  const { verdict, steady } = await verdictAfter(4, LOOKS, (seed) => (seed % 2 ? 3.03 : 2.98), 2.7)
  expect([verdict.verdict, steady, isDecided(verdict)]).toEqual(['inconclusive', 'inconclusive', false])
})

test('where the later half decides otherwise no further block is measured', async () => {
  const { verdict } = await verdictAfter(4, LOOKS, (seed) => 2.8 + 0.001 * (seed % 2))
  expect([verdict.verdict, isDecided(verdict)]).toEqual(['invalid', true])
})
