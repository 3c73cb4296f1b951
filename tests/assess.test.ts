// What is judged together: each run of a recipe is timed after warm-up steps of its own.
import { expect, test } from 'vitest'
import { assess } from '../src/assess.ts'
import type { Experiment } from '../src/config/experiment.ts'
import type { PlannedRun } from '../src/plan/plan.ts'
import { renderTerminal } from '../src/report/terminal.ts'
import { anExperiment, aRequest, aResult, aSource, launchedPlan } from './fixtures/builders.ts'
import { aMachineRecord } from './fixtures/machine/records.ts'

test('clock and curves leave out the warm-up steps of each run, not those of another', async () => {
  const experiment = anExperiment({ kind: 'recipe' })
  const slowFor = (slow: number, steps: number) =>
    Array.from({ length: steps }, (_, step) => (step < slow ? 1 : 0.01))
  const launched = await launchedPlan(experiment, ({ variant }) =>
    variant === 'baseline'
      ? { stepSeconds: slowFor(10, 100), samplesPerStep: 6 }
      : { stepSeconds: slowFor(60, 600), samplesPerStep: 1 },
  )
  // The first reports of an optimized run come late and together; of its last 540 steps they tell the truth.
  const reports = [10, 60, 600].map((last_step) => ({
    event: 'steps' as const,
    last_step,
    seconds: 60 + (last_step === 600 ? 5.4 : 0),
  }))
  const records = new Map(
    launched.flatMap(({ outcome: { run } }) =>
      run.variant === 'optimized' ? [[run.id, [aMachineRecord({ steps: reports })]] as const] : [],
    ),
  )
  const { curves, machineChecks, verdict } = assess(aRequest({ experiment }), launched, {
    preflight: null,
    records,
  })
  expect(machineChecks.map(({ name }) => name)).not.toContain('step clock')
  const seconds = curves.find(({ metric }) => metric === 'seconds_per_sample')
  expect(Math.max(...(seconds?.values.baseline ?? []))).toBeCloseTo(0.01 / 6, 12)
  expect(Math.max(...(seconds?.values.optimized ?? []))).toBeCloseTo(0.01, 12)
  const details = Object.fromEntries(verdict.checks.map(({ name, detail }) => [name, detail]))
  expect(details['steady state']).toBe(
    'timed after the same samples in all runs, warm-up steps: 10 of the baseline, 60 of the optimized',
  )
  expect(details['equal work']).toBe(
    '600 samples and 1000 parameters in every run, updates: 100 of the baseline, 600 of the optimized; what a step computes is not read back',
  )
})

test('steps of other samples make no longer warm-up of the same work, in which slow ones could hide', async () => {
  const launched = await launchedPlan(anExperiment(), () => ({ stepSeconds: Array<number>(300).fill(0.01) }))
  const early = launched.map((one) => {
    const { outcome } = one
    if (outcome.status !== 'finished' || outcome.run.variant === 'baseline') return one
    // 4,800 samples as well: few in each of the first 130 steps, the rest in those that are timed.
    const samples = Array.from<unknown, number>({ length: 300 }, (_, step) => (step < 130 ? 1 : 27)).with(
      299,
      4800 - 130 - 169 * 27,
    )
    return {
      ...one,
      outcome: { ...outcome, metrics: { ...outcome.metrics, steps: { ...outcome.metrics.steps, samples } } },
    }
  })
  const { verdict } = assess(aRequest({ experiment: anExperiment() }), early)
  expect(verdict.verdict).toBe('invalid')
  expect(verdict.reason).toContain(
    'steps for the samples of the warm-up of block 1 differ: 31 (baseline) / 143 (optimized)',
  )
})

test('a run that reports another config than it was given makes the verdict invalid', async () => {
  const request = aRequest()
  const swapped = { baseline: 'optimized', optimized: 'baseline' } as const
  const launched = await launchedPlan(request.experiment, ({ variant }) => ({
    start: { config: request.configs[swapped[variant]] },
  }))
  const { verdict } = assess(request, launched)
  expect(verdict.verdict).toBe('invalid')
  expect(verdict.reason).toMatch(/speed\.fused was given as false, but reported true/)
})

/** Of an experiment with a warm-up launch of each variant, by what the losses of a run's 40 steps are. */
async function warningsAt(lossOf: (run: PlannedRun, step: number) => number) {
  const experiment = anExperiment({ design: { blocks: 3, warm_up_launches: 1, seed: 0 } })
  const launched = (await launchedPlan(experiment)).map((one) => {
    const { outcome } = one
    if (outcome.status !== 'finished') return one
    const trainLoss = outcome.metrics.steps.seconds.map((_, step) => lossOf(outcome.run, step))
    const steps = { ...outcome.metrics.steps, trainLoss }
    return { ...one, outcome: { ...outcome, metrics: { ...outcome.metrics, steps } } }
  })
  return assess(aRequest({ experiment }), launched).verdict.warnings
}

test('variants whose losses start apart are asked about', async () => {
  expect(await warningsAt(({ variant }) => (variant === 'baseline' ? 1 : 1.1))).toContainEqual(
    expect.stringContaining('block 1: the first training losses are 1.000 and 1.100'),
  )
})

test('runs that start far below where the warm-up launch started are asked about', async () => {
  // By its last steps alone it has learned: their mean is not that of the run.
  const goesOn = ({ purpose, seed }: PlannedRun, step: number) =>
    purpose === 'warm-up' && step < 37 ? 1 + seed / 100 : 0.1 + seed / 1000 + step / 1e6
  const warnings = await warningsAt(goesOn)
  expect(warnings).toContainEqual(
    expect.stringContaining('baseline: every run after 01-warm-up-baseline starts'),
  )
  expect(warnings).toContainEqual(expect.stringContaining('optimized: every run after 02-warm-up-optimized'))
  const startsAnew = ({ seed }: PlannedRun, step: number) => (step < 37 ? 1 + seed / 100 : 0.1)
  expect(await warningsAt(startsAnew)).toEqual([])
})

test('two names of one commit tell nothing of a change', async () => {
  const { variants, ...others } = anExperiment({ kind: 'regression' })
  const baseline = { ...variants.baseline, revision: 'merge-base' }
  const experiment = { ...others, variants: { ...variants, baseline } }
  const launched = await launchedPlan(experiment)
  const warningsOf = (revision: string | null, named: Experiment = experiment) => {
    const source = aSource({ revision })
    const sources = { baseline: { ...source, ref: 'merge-base' }, optimized: source }
    return assess(aRequest({ experiment: named, sources }), launched).verdict.warnings
  }
  const commit = '89ab'.repeat(10)
  expect(warningsOf(commit)).toEqual([
    `both revisions are ${commit}, so the result cannot show the effect of a change. Name another base`,
  ])
  expect(warningsOf(`${commit}-dirty`)).toEqual([])
  expect(warningsOf(null)).toEqual([])
  expect(warningsOf(commit, { ...experiment, variants })).toEqual([])
})

test('a rollout that blows up in one optimized run fails the experiment, and is named', async () => {
  const gates = {
    mass_gap: {
      metric: 'evaluation.mass_gap/a',
      statistic: 'maximum',
      at_most: 0.15,
      severity: 'required',
      evidence: 'interval',
    },
  } as const
  const result = await aResult(anExperiment({ gates }), ({ id }) => ({
    evaluation:
      id === '04-block-1-optimized' ? { not_finite: ['mass_gap/a'] } : { metrics: { 'mass_gap/a': 0.01 } },
  }))
  expect(result.verdict).toMatchObject({
    verdict: 'failed',
    reason: expect.stringMatching(/^mass_gap failed: .*NaN or infinite in 04-block-1-optimized/),
  })
  expect(renderTerminal(result)).toMatch(/mass_gap +\|.*\| failed/)
})
