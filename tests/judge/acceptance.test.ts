// An experiment may say that open gates stop nobody; everything that is not merely open still does.
import { describe, expect, test } from 'vitest'
import type { Experiment } from '../../src/config/experiment.ts'
import { isAcceptable, isNeutral } from '../../src/judge/acceptance.ts'
import { withMachine } from '../../src/judge/machine/machine-verdict.ts'
import type { Verdict } from '../../src/judge/verdict.ts'
import type { PlannedRun } from '../../src/plan/plan.ts'
import { combine, isCombinedAcceptable, missedGates } from '../../src/record/combined.ts'
import { acceptCommand, parseAcceptance } from '../../src/report/github/acceptance.ts'
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

test.each(['noise floor', 'steady state'] as const)(
  'a warning about the %s changes neither',
  async (name) => {
    const warned = ({ verdict }: Awaited<ReturnType<typeof aResult>>) => ({
      ...verdict,
      checks: verdict.checks.map((check) => (check.name === name ? { ...check, status: 'warned' } : check)),
    })
    const missed = warned(await aResult(anExperiment(), () => ({ stepSeconds: 0.08 }))) as Verdict
    const openOne = warned(await aResult(neutral, open)) as Verdict
    expect(missed.checks.filter(({ status }) => status === 'warned')).toHaveLength(1)
    expect([isAcceptable(missed), isAcceptable(openOne), isNeutral(neutral, openOne)]).toEqual([
      true,
      true,
      true,
    ])
  },
)

describe('after a look that can only fail', () => {
  const early = async (experiment: Experiment) => {
    const result = await aResult(experiment, open)
    return { ...result, verdict: { ...result.verdict, mayPass: false } }
  }

  test('an open gate is acceptable, but not neutral', async () => {
    const { verdict } = await early(neutral)
    expect([verdict.verdict, isAcceptable(verdict), isNeutral(neutral, verdict)]).toEqual([
      ...['inconclusive', true, false],
    ])
  })

  test('without a gate that is missed there is nothing to accept', async () => {
    const gates = { speedup: { at_least: 3, severity: 'info', evidence: 'interval' } } as const
    const result = await early(anExperiment({ gates, inconclusive: 'neutral' }))
    const verdict = { ...result.verdict, verdict: 'inconclusive' } as const
    const combined = combine([{ ...result, verdict }])
    expect([missedGates(combined), isCombinedAcceptable(combined)]).toEqual([[], false])
    expect(conclusionOf(combined, null)).toBe('failure')
  })

  test('every command that is offered can be read back', async () => {
    const gates = missedGates(combine([await early(neutral)]))
    const measured = { key: 'a', headSha: 'c'.repeat(40), runId: 1, runAttempt: 1, gates }
    const command = acceptCommand(measured).replace('REASON', 'known')
    expect(parseAcceptance(command)).toEqual({ ...measured, reason: 'known' })
  })
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
