// The held-out numbers of both variants come out again from their checkpoints, or the verdict is not a pass.
import { describe, expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import type { Experiment } from '../../../src/config/experiment.ts'
import { runsToReevaluate, toleranceOf } from '../../../src/judge/checks/reevaluation.ts'
import { NOT_REEVALUATED, type Reevaluation } from '../../../src/measure/reevaluation.ts'
import {
  aGate,
  aLaunchRecord,
  anExperiment,
  aRequest,
  launchedPlan,
  type MetricsDifference,
} from '../../fixtures/builders.ts'

const evaluated = (changes: Partial<Experiment> = {}) =>
  anExperiment({ trainer: { module: 'trainer', evaluate_command: 'evaluate' }, ...changes })

/** Every run of 4 blocks reported 0.02; each is evaluated again to `found`. */
async function assessed(found: (runId: string) => number | null, changes: Partial<Reevaluation> = {}) {
  const experiment = evaluated()
  const launched = await launchedPlan(experiment)
  const numbers = new Map(
    launched.flatMap(({ outcome: { run } }) => {
      const value = found(run.id)
      return value === null || run.purpose === 'warm-up' ? [] : [[run.id, { val_loss: value }] as const]
    }),
  )
  const reevaluation = { launch: aLaunchRecord(), numbers, problem: null, doubled: [], ...changes }
  const { verdict } = assess(aRequest({ experiment }), launched, undefined, reevaluation)
  return { ...verdict, evaluation: verdict.checks.find(({ name }) => name === 'evaluation') }
}

describe('an experiment whose checkpoints were evaluated again', () => {
  test('passes when the numbers agree within a tenth of what the limit allows', async () => {
    const { verdict, evaluation } = await assessed(() => 0.02 + 0.00009)
    expect(verdict).toBe('passed')
    expect(evaluation).toMatchInlineSnapshot(`
      {
        "detail": "one process evaluated 8 checkpoints again and found val_loss as the trainings reported, to within 0.45%",
        "name": "evaluation",
        "status": "passed",
      }
    `)
  })

  test('is invalid when one does not, and says which', async () => {
    const { verdict, evaluation } = await assessed((id) => (id === '04-block-1-optimized' ? 0.0202 : 0.02))
    expect(verdict).toBe('invalid')
    expect(evaluation).toMatchInlineSnapshot(`
      {
        "detail": "04-block-1-optimized: the training reported val_loss 0.020000, but the evaluation found 0.020200 (tolerance 0.00010)",
        "name": "evaluation",
        "status": "failed",
      }
    `)
  })

  test('is invalid when a checkpoint has two lines, since nobody can know which is meant', async () => {
    const doubled = [
      'evaluations.jsonl: lines 1 and 9 are both of 03-block-1-baseline. Write one line for each run',
    ]
    const { verdict, reason } = await assessed(() => 0.02, { doubled })
    expect([verdict, reason]).toEqual(['invalid', `evaluation: ${doubled[0]}`])
  })

  test('is inconclusive when numbers are missing, or the process failed', async () => {
    const missing = await assessed((id) => (id === '04-block-1-optimized' ? null : 0.02))
    expect(missing).toMatchObject({ verdict: 'inconclusive', evaluation: { status: 'inconclusive' } })
    expect(missing.reason).toMatchInlineSnapshot(
      `"evaluation: not all checkpoints were evaluated again, 1 of 8 runs are missing: the process left them out"`,
    )
    const failed = await assessed(() => 0.02, { problem: 'exit code 1' })
    expect(failed).toMatchObject({ verdict: 'inconclusive' })
    expect(failed.reason).toContain('evaluation: not all checkpoints were evaluated again: exit code 1')
  })

  test('says which names it found where they are not those of the runs', async () => {
    const experiment = evaluated()
    const launched = await launchedPlan(experiment)
    const counting = launched.flatMap(({ outcome: { run } }) => (run.purpose === 'warm-up' ? [] : [run.id]))
    const reasonOf = (names: readonly string[]) => {
      const numbers = new Map(names.map((name) => [name, { val_loss: 0.02 }]))
      const reevaluation = { launch: aLaunchRecord(), numbers, problem: null, doubled: [] }
      return assess(aRequest({ experiment }), launched, undefined, reevaluation).verdict.reason
    }
    expect(reasonOf(counting.map((id) => `/out/runs/${id}`))).toMatchInlineSnapshot(
      `"evaluation: not all checkpoints were evaluated again, 8 of 8 runs are missing: run: got "/out/runs/03-block-1-baseline", "/out/runs/04-block-1-optimized" and 6 more, expected each folder as --run gave it, such as ".../03-block-1-baseline/trainer""`,
    )
    expect(reasonOf([])).toMatchInlineSnapshot(
      `"evaluation: not all checkpoints were evaluated again, 8 of 8 runs are missing: evaluation/evaluations.jsonl has no readable line"`,
    )
    expect(reasonOf(counting.slice(1))).toMatchInlineSnapshot(
      `"evaluation: not all checkpoints were evaluated again, 1 of 8 runs are missing: the process left them out"`,
    )
  })

  test('says how far an evaluation came with which the experiment ended, and what it found counts', async () => {
    const ended = { launch: null, problem: 'the experiment ended before the evaluation' }
    const first = '03-block-1-baseline'
    const some = await assessed((id) => (id === first ? 0.02 : null), ended)
    expect(some.verdict).toBe('inconclusive')
    expect(some.reason).toMatchInlineSnapshot(
      `"evaluation: not all checkpoints were evaluated again, 7 of 8 runs are missing: the experiment ended before the evaluation"`,
    )
    const every = await assessed(() => 0.02, ended)
    expect([every.verdict, every.reason]).toEqual([
      'inconclusive',
      expect.stringMatching(/^evaluation: .*ended during the evaluation\b.*no record$/),
    ])
    const wrong = await assessed((id) => (id === first ? 0.9 : null), ended)
    expect(wrong).toMatchObject({ verdict: 'invalid', evaluation: { status: 'failed' } })
  })

  test('has to agree with the strictest of the gates of a number', async () => {
    const interval = { severity: 'required', evidence: 'interval' } as const
    const experiment = evaluated({
      gates: { loss_delta: { below: 0.001, ...interval }, loss_ratio: { at_most: 1.5, ...interval } },
    })
    const launched = await launchedPlan(experiment)
    const numbers = new Map(launched.map(({ outcome }) => [outcome.run.id, { val_loss: 0.0205 }]))
    const reevaluation = { launch: aLaunchRecord(), numbers, problem: null, doubled: [] }
    expect(assess(aRequest({ experiment }), launched, undefined, reevaluation).verdict.reason).toContain(
      'tolerance 0.00010',
    )
  })

  test('holds each number against its own gates, and a missing one is the affair of its gate', async () => {
    const interval = { severity: 'required', evidence: 'interval' } as const
    const experiment = evaluated({
      gates: { loss_delta: { below: 0.001, ...interval }, nrmse_ratio: { at_most: 1.03, ...interval } },
    })
    const evaluationWith = async (evaluation: MetricsDifference['evaluation'] = {}) => {
      const launched = await launchedPlan(experiment, () => ({ evaluation }))
      const again = { val_loss: 0.02, 'evaluation.nrmse': 0.1002 }
      const numbers = new Map(launched.map(({ outcome }) => [outcome.run.id, again]))
      const reevaluation = { launch: aLaunchRecord(), numbers, problem: null, doubled: [] }
      const { verdict } = assess(aRequest({ experiment }), launched, undefined, reevaluation)
      return verdict.checks.find(({ name }) => name === 'evaluation')?.status
    }
    expect(await evaluationWith({ metrics: { nrmse: 0.1 } })).toBe('passed')
    expect(await evaluationWith()).toBe('passed')
  })

  test('holds the losses that a time to quality ends at to a hundredth, those of parts too', async () => {
    const partLoss = 'evaluation.val_loss/small'
    const evaluationWith = async (gate: string, found: number, valLoss = 0.02) => {
      const gates = { [gate]: { at_least: 2, severity: 'required', evidence: 'interval' } } as const
      const experiment = evaluated({ gates })
      const launched = await launchedPlan(experiment, () => ({
        evaluation: { metrics: { 'val_loss/small': 0.001 } },
      }))
      const again = { val_loss: valLoss, [partLoss]: found }
      const numbers = new Map(launched.map(({ outcome }) => [outcome.run.id, again]))
      const reevaluation = { launch: aLaunchRecord(), numbers, problem: null, doubled: [] }
      const { verdict } = assess(aRequest({ experiment }), launched, undefined, reevaluation)
      return verdict.checks.find(({ name }) => name === 'evaluation')
    }
    const [whole, each] = ['time_to_quality_speedup', 'time_to_each_quality_speedup']
    expect(await evaluationWith(each, 0.001009)).toMatchObject({ status: 'passed' })
    expect((await evaluationWith(each, 0.001009))?.detail).toContain(`val_loss, ${partLoss}`)
    expect(await evaluationWith(each, 0.00102)).toMatchObject({ status: 'failed' })
    expect(await evaluationWith(each, 0.001, 0.0203)).toMatchObject({ status: 'failed' })
    expect(await evaluationWith(whole, 0.00102)).toMatchObject({ status: 'passed' })
    expect(await evaluationWith(whole, 0.001, 0.0203)).toMatchObject({ status: 'failed' })
  })

  test('holds a loss to a hundredth for its time also where a gate of its own would allow more', async () => {
    const interval = { severity: 'required', evidence: 'interval' } as const
    const gates = {
      loss_delta: { below: 0.01, ...interval },
      time_to_quality_speedup: { at_least: 2, ...interval },
    }
    const experiment = evaluated({ gates })
    const launched = await launchedPlan(experiment)
    const numbers = new Map(launched.map(({ outcome }) => [outcome.run.id, { val_loss: 0.0203 }]))
    const reevaluation = { launch: aLaunchRecord(), numbers, problem: null, doubled: [] }
    const { verdict } = assess(aRequest({ experiment }), launched, undefined, reevaluation)
    expect(verdict.reason).toContain('tolerance 0.00020')
  })

  test('does not let a training keep a part to itself, where a time rests on the parts', async () => {
    const evaluationWith = async (gate: string, evaluations: number, further: Record<string, number>) => {
      const gates = { [gate]: { at_least: 2, severity: 'required', evidence: 'interval' } } as const
      const experiment = evaluated({ gates })
      const launched = (
        await launchedPlan(experiment, () => ({ evaluation: { metrics: { 'val_loss/a': 0.01 } } }))
      ).map((one) => {
        const { outcome } = one
        if (outcome.status !== 'finished') throw new Error('not finished')
        const last = outcome.metrics.evaluations.slice(-1)
        const earlier = last.map((evaluation) => ({ ...evaluation, step: 20, samples_seen: 320 }))
        const metrics = { ...outcome.metrics, evaluations: [...earlier, ...last].slice(-evaluations) }
        return { ...one, outcome: { ...outcome, metrics } }
      })
      const again = { val_loss: 0.02, 'evaluation.val_loss/a': 0.01, ...further }
      const numbers = new Map(launched.map(({ outcome }) => [outcome.run.id, again]))
      const reevaluation = { launch: aLaunchRecord(), numbers, problem: null, doubled: [] }
      const { verdict } = assess(aRequest({ experiment }), launched, undefined, reevaluation)
      return verdict.checks.find(({ name }) => name === 'evaluation')
    }
    const [each, part] = ['time_to_each_quality_speedup', { 'evaluation.val_loss/b': 0.9 }]
    expect((await evaluationWith(each, 2, part))?.detail).toContain(
      'the training did not report evaluation.val_loss/b',
    )
    expect((await evaluationWith(each, 1, part))?.status).toBe('passed')
    expect((await evaluationWith(each, 2, { 'evaluation.rollout_nrmse/a': 0.9 }))?.status).toBe('passed')
    expect((await evaluationWith('time_to_quality_speedup', 2, part))?.status).toBe('passed')
  })

  test('needs every metric that a gate looks at', async () => {
    const experiment = evaluated({
      gates: { nrmse_ratio: { at_most: 1.03, severity: 'required', evidence: 'interval' } },
    })
    const launched = await launchedPlan(experiment, () => ({ evaluation: { metrics: { nrmse: 0.1 } } }))
    const numbers = new Map(launched.map(({ outcome }) => [outcome.run.id, { val_loss: 0.02 }]))
    const reevaluation = { launch: aLaunchRecord(), numbers, problem: null, doubled: [] }
    const { verdict } = assess(aRequest({ experiment }), launched, undefined, reevaluation)
    expect(verdict.reason).toContain('the evaluation did not report evaluation.nrmse')
  })

  test('claims nothing of a metric that the trainings did not report', async () => {
    const common = { severity: 'required', evidence: 'interval' } as const
    const gates = { loss_delta: { below: 0.001, ...common }, nrmse_ratio: { at_most: 1.03, ...common } }
    const experiment = evaluated({ gates })
    const launched = await launchedPlan(experiment)
    const numbers = new Map(launched.map(({ outcome }) => [outcome.run.id, { val_loss: 0.02 }]))
    const reevaluation = { launch: aLaunchRecord(), numbers, problem: null, doubled: [] }
    const { verdict } = assess(aRequest({ experiment }), launched, undefined, reevaluation)
    const evaluation = verdict.checks.find(({ name }) => name === 'evaluation')
    expect(evaluation).toMatchObject({ status: 'passed', detail: expect.stringContaining('val_loss') })
    expect(evaluation?.detail).not.toContain('nrmse')
  })
})

describe('nothing is evaluated again', () => {
  const toReevaluate = async (experiment: Experiment, count?: number) => {
    const launched = (await launchedPlan(experiment)).slice(0, count)
    const result = assess(aRequest({ experiment }), launched)
    const { status, detail } = result.verdict.checks.find(({ name }) => name === 'evaluation') ?? {}
    return { runs: runsToReevaluate(result).length, status, detail }
  }

  test('but all counted runs of a complete experiment', async () => {
    expect(await toReevaluate(evaluated())).toMatchObject({ runs: 8, status: 'inconclusive' })
  })

  test('by a trainer that cannot', async () => {
    expect(await toReevaluate(anExperiment())).toEqual({
      runs: 0,
      status: 'not-measured',
      detail: 'not re-evaluated: trainer.evaluate_command is not set',
    })
  })

  test('for gates that look at no held-out number', async () => {
    const gates: Experiment['gates'] = {
      speedup: { at_least: 3, severity: 'required', evidence: 'interval' },
    }
    expect(await toReevaluate(evaluated({ gates }))).toMatchObject({ runs: 0, status: 'not-measured' })
  })

  test('for the time that an evaluation took, which never comes again', async () => {
    const gates: Experiment['gates'] = {
      latency: {
        metric: 'evaluation.latency_seconds',
        statistic: 'speedup',
        at_least: 1.1,
        severity: 'required',
        evidence: 'interval',
      },
    }
    expect(await toReevaluate(evaluated({ gates }))).toMatchObject({ runs: 0, status: 'not-measured' })
  })

  test('of an A/A', async () => {
    expect(await toReevaluate(evaluated({ mode: 'aa' }))).toMatchObject({ runs: 0, status: 'not-measured' })
  })

  test('before all is launched, and then nothing passes', async () => {
    const experiment = evaluated()
    const launched = await launchedPlan(experiment)
    const stopped = [
      ...launched.slice(0, -1),
      ...launched.slice(-1).map(({ outcome: { run } }) => ({
        launch: null,
        outcome: { status: 'not-run' as const, run, reason: 'stopped' as const },
      })),
    ]
    expect(runsToReevaluate(assess(aRequest({ experiment }), stopped))).toEqual([])
    expect(assess(aRequest({ experiment }), launched, undefined, NOT_REEVALUATED).verdict.verdict).toBe(
      'inconclusive',
    )
  })
})

test.each([
  ['a difference allows a tenth of its limit', { statistic: 'difference', limit: 0.001 }, 0.02, 0.0001],
  ['so it does where more is better', { statistic: 'difference', limit: -0.001 }, 0.02, 0.0001],
  ['a ratio allows a tenth of its margin', { statistic: 'ratio', limit: 1.03 }, 0.1, 0.0003],
  ['a level allows a hundredth of its limit', { statistic: 'maximum', limit: 0.4 }, 0.1, 0.004],
  ['rounding is always allowed', { statistic: 'difference', limit: 0.001 }, 100, 0.01],
] as const)('%s', (_, difference, reported, expected) => {
  expect(toleranceOf(aGate({ metric: 'val_loss', ...difference }), reported)).toBeCloseTo(expected, 12)
})
