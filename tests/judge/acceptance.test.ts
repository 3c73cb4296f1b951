// An experiment may say that open gates stop nobody; everything that is not merely open still does.
import { describe, expect, test } from 'vitest'
import type { Experiment } from '../../src/config/experiment.ts'
import { isAcceptable, isNeutral } from '../../src/judge/acceptance.ts'
import { withMachine } from '../../src/judge/machine/machine-verdict.ts'
import type { PlannedRun } from '../../src/plan/plan.ts'
import { combine } from '../../src/record/combined.ts'
import { conclusionOf } from '../../src/report/github/check.ts'
import { anExperiment, aResult, type MetricsDifference } from '../fixtures/builders.ts'

const neutral = anExperiment({ inconclusive: 'neutral' })

/** 3.3 and 2.7 times faster by turns: the interval spans the limit of 3. */
const open = ({ variant, seed }: PlannedRun): MetricsDifference =>
  variant === 'baseline' ? {} : { stepSeconds: seed % 2 ? 0.024 : 0.03 }

async function judged(experiment: Experiment, metricsOf?: (run: PlannedRun) => MetricsDifference) {
  const result = await aResult(experiment, metricsOf)
  const { verdict } = result
  return [verdict.verdict, isNeutral(experiment, verdict), conclusionOf(combine([result]), null)]
}

test('a maintainer may accept missed and open gates, and nothing else', async () => {
  const verdictOf = async (metricsOf?: typeof open) => (await aResult(anExperiment(), metricsOf)).verdict
  const missed = await verdictOf(() => ({ stepSeconds: 0.08 }))
  expect([missed, await verdictOf(open)].map(isAcceptable)).toEqual([true, true])
  const unequal = await verdictOf(({ variant }) => ({ samplesPerStep: variant === 'baseline' ? 16 : 8 }))
  const completion = { name: 'completion', status: 'failed', detail: 'out of memory' } as const
  const unlaunched = { ...missed, checks: [completion, ...missed.checks.slice(1)] }
  expect([unequal, unlaunched, await verdictOf()].map(isAcceptable)).toEqual([false, false, false])
})

test('what is accepted makes a neutral check, and nothing else does', async () => {
  const acceptance = { login: 'maintainer', reason: 'known', url: 'https://github.com' }
  const conclusion = async (metricsOf: typeof open) =>
    conclusionOf(combine([await aResult(anExperiment(), metricsOf)]), acceptance)
  expect(await conclusion(() => ({ stepSeconds: 0.08 }))).toBe('neutral')
  expect(await conclusion(({ seed }) => ({ samplesPerStep: seed }))).toBe('failure')
})

describe('in an experiment that says inconclusive: neutral', () => {
  test('a gate that stays open is neutral', async () => {
    expect(await judged(neutral, open)).toEqual(['inconclusive', true, 'neutral'])
    expect(await judged(anExperiment(), open)).toEqual(['inconclusive', false, 'failure'])
  })

  test('a missed gate, and unequal work, are not', async () => {
    const slow = () => ({ stepSeconds: 0.08 })
    expect(await judged(neutral, slow)).toEqual(['failed', false, 'failure'])
    const unequal = ({ variant }: PlannedRun) => ({ samplesPerStep: variant === 'baseline' ? 16 : 8 })
    expect(await judged(neutral, unequal)).toEqual(['invalid', false, 'failure'])
  })

  test('a machine that spoiled it is not, although no check of the runs failed', async () => {
    const { verdict } = await aResult(neutral, open)
    const throttled = { name: 'throttling', status: 'failed', detail: 'slowed down by heat' } as const
    expect([isAcceptable(verdict), isAcceptable(withMachine(verdict, [throttled]))]).toEqual([true, false])
  })

  test('an evaluation that was not done is not', async () => {
    const evaluated = { ...neutral, trainer: { module: 'trainer', evaluate_command: 'evaluate' } }
    expect(await judged(evaluated)).toEqual(['inconclusive', false, 'failure'])
  })
})
