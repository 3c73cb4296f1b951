// From launches to a verdict: failed launches, then incomparable runs, then gates; only proof passes.
import { describe, expect, test } from 'vitest'
import { assess } from '../../src/assess.ts'
import type { Experiment } from '../../src/config/experiment.ts'
import { isDecided } from '../../src/judge/verdict.ts'
import { type LaunchEnd, type Launched, type NotRunReason, outcomeOf } from '../../src/measure/outcome.ts'
import type { PlannedRun } from '../../src/plan/plan.ts'
import {
  aLaunchRecord,
  anExperiment,
  aRequest,
  aResult,
  launchedPlan,
  type MetricsDifference,
} from '../fixtures/builders.ts'

const experiment = anExperiment()
const gatesOf = (gates: Experiment['gates']) => anExperiment({ gates })
const interval = { severity: 'required', evidence: 'interval' } as const

async function verdictOf(of: Experiment = experiment, metricsOf?: (run: PlannedRun) => MetricsDifference) {
  return (await aResult(of, metricsOf)).verdict
}
/** As trainings do whose seed matters. */
const seeded = ({ variant, seed }: PlannedRun): MetricsDifference => ({
  stepSeconds: variant === 'baseline' ? 0.08 : 0.02,
  valLoss: 0.02 + 0.0001 * seed,
})
const onlyOptimized = (difference: MetricsDifference) => (run: PlannedRun) =>
  run.variant === 'optimized' ? difference : {}

/** A faultless experiment whose launch at `position` ended like this. */
async function withLaunch(position: number, end: LaunchEnd): Promise<Launched[]> {
  return (await launchedPlan(experiment)).map((launched, index) =>
    index === position
      ? {
          launch: aLaunchRecord({}, end),
          outcome: outcomeOf(launched.outcome.run, aLaunchRecord({}, end), null),
        }
      : launched,
  )
}

describe('an experiment', () => {
  test('passes when everything finished and every required gate is proven', async () => {
    expect(await verdictOf(experiment, seeded)).toMatchObject({
      verdict: 'passed',
      reason: '10 of 10 launches finished with equal work; required gates passed: speedup, loss_delta',
      warnings: [],
    })
  })

  test('passes with one required gate, and names it', async () => {
    expect((await verdictOf(gatesOf({ speedup: { at_least: 3, ...interval } }), seeded)).reason).toBe(
      '10 of 10 launches finished with equal work; required gates passed: speedup',
    )
  })

  test('fails on a required gate, and names it', async () => {
    expect(await verdictOf(experiment, onlyOptimized({ stepSeconds: 0.04 }))).toMatchObject({
      verdict: 'failed',
      reason: 'speedup failed: the whole interval misses the limit after 4 blocks',
    })
  })

  test('names every gate that failed', async () => {
    const { verdict, reason } = await verdictOf(
      experiment,
      onlyOptimized({ stepSeconds: 0.04, valLoss: 0.03 }),
    )
    expect([verdict, reason]).toMatchInlineSnapshot(`
      [
        "failed",
        "speedup failed: the whole interval misses the limit after 4 blocks; loss_delta failed: the whole interval misses the limit after 4 blocks",
      ]
    `)
  })

  test('fails on one gate although another is inconclusive', async () => {
    const noisy = (run: PlannedRun) =>
      run.variant === 'optimized' ? { stepSeconds: 0.04, valLoss: 0.02 + 0.001 * ((run.block ?? 0) % 2) } : {}
    expect(await verdictOf(experiment, noisy)).toMatchObject({
      verdict: 'failed',
      gates: [{ status: 'failed' }, { status: 'inconclusive' }],
    })
  })

  test('is inconclusive when the interval spans the limit', async () => {
    const around = (run: PlannedRun) =>
      run.variant === 'optimized' ? { stepSeconds: (run.block ?? 0) % 2 ? 0.02 : 0.03 } : {}
    expect(await verdictOf(experiment, around)).toMatchObject({
      verdict: 'inconclusive',
      reason: 'speedup inconclusive: the interval spans the limit after 4 blocks',
    })
  })

  test('is inconclusive when a required gate was not measured', async () => {
    const nrmse = gatesOf({ nrmse_ratio: { at_most: 1.03, ...interval } })
    expect(await verdictOf(nrmse)).toMatchObject({
      verdict: 'inconclusive',
      reason:
        'nrmse_ratio not measured: not every run reported a usable evaluation.nrmse; all reported val_loss',
    })
  })

  test('is inconclusive with a single block', async () => {
    const short = anExperiment({ design: { blocks: 1, warm_up_launches: 0, seed: 0 } })
    expect((await verdictOf(short)).verdict).toBe('inconclusive')
  })

  test('passes without required gates when all finished, and says so', async () => {
    expect(
      (await verdictOf(gatesOf({ speedup: { at_least: 3, severity: 'info', evidence: 'interval' } }))).reason,
    ).toBe(
      '10 of 10 launches finished with equal work; no claim about speed or quality, because every gate has severity: info',
    )
  })
})

describe('a gate that is not required', () => {
  test('warns and lets pass', async () => {
    const warned = gatesOf({ speedup: { at_least: 5, severity: 'warn', evidence: 'interval' } })
    expect(await verdictOf(warned)).toMatchObject({
      verdict: 'passed',
      warnings: ['speedup failed: the whole interval misses the limit after 4 blocks'],
    })
    const met = gatesOf({ speedup: { at_least: 3, severity: 'warn', evidence: 'interval' } })
    expect(await verdictOf(met)).toMatchObject({ verdict: 'passed', warnings: [] })
  })

  test('says nothing as information', async () => {
    const info = gatesOf({ speedup: { at_least: 5, severity: 'info', evidence: 'interval' } })
    expect(await verdictOf(info)).toMatchObject({ verdict: 'passed', warnings: [] })
  })
})

test('a speedup that only waits have made passes with a warning, and of an A/A nothing is said', async () => {
  const waits = ({ variant, seed }: PlannedRun): MetricsDifference => ({
    ...seeded({ variant, seed } as PlannedRun),
    stepSeconds: Array.from(
      { length: 40 },
      (_, step) => (1 + seed / 1000) * (variant === 'optimized' ? 0.02 : step % 2 === 0 ? 0.04 : 0.12),
    ),
  })
  const { verdict, warnings } = await verdictOf(experiment, waits)
  expect(verdict).toBe('passed')
  expect(warnings).toEqual([
    expect.stringMatching(
      /^speedup passes only because of slow steps\..* it would be 2\.00x.*limit of 3\.00x\./,
    ),
  ])
  const aa = await verdictOf(anExperiment({ mode: 'aa' }), waits)
  expect(aa.warnings.filter((warning) => warning.includes('would be'))).toEqual([])
})

describe('a launch', () => {
  const crashed: LaunchEnd = { status: 'exited', exitCode: 1, wallSeconds: 5 }

  test.each([0, 2, 9])('that fails at position %d fails the experiment', async (position) => {
    const { verdict } = assess(aRequest(), await withLaunch(position, crashed))
    expect(verdict.verdict).toBe('failed')
    expect(verdict.reason).toContain('9 of 10 launches finished; ')
    expect(verdict.reason).toMatch(/exit-code \(exit code 1; see runs\/.*\/log\.txt\)/)
  })

  test('that is cancelled leaves the experiment inconclusive', async () => {
    const { verdict } = assess(aRequest(), await withLaunch(9, { status: 'cancelled', wallSeconds: 5 }))
    expect(verdict).toMatchObject({
      verdict: 'inconclusive',
      reason: 'stopped early: 9 of 10 launches finished',
    })
  })

  test('that was not run leaves the experiment inconclusive', async () => {
    const launched = (await launchedPlan(experiment)).map(({ launch, outcome }, index) =>
      index < 8 ? { launch, outcome } : { launch: null, outcome: outcomeOf(outcome.run, null, null) },
    )
    expect(assess(aRequest(), launched).verdict.verdict).toBe('inconclusive')
  })

  test('was there at all: an experiment without any does not pass', () => {
    const { verdict } = assess(aRequest(), [])
    expect(verdict).toMatchObject({
      verdict: 'inconclusive',
      reason: 'stopped early: 0 of 0 launches finished',
    })
    expect(
      assess(
        aRequest({
          experiment: gatesOf({ speedup: { at_least: 3, severity: 'info', evidence: 'interval' } }),
        }),
        [],
      ).verdict.verdict,
    ).toBe('inconclusive')
  })

  test('with exit code 0 and half its metrics fails', async () => {
    const end: LaunchEnd = { status: 'exited', exitCode: 0, wallSeconds: 5 }
    expect(assess(aRequest(), await withLaunch(4, end)).verdict.verdict).toBe('failed')
  })
})

describe('validity', () => {
  test('comes before the gates', async () => {
    const unequal = onlyOptimized({ stepSeconds: 0.04, start: { data_hash: 'beef' } })
    expect(await verdictOf(experiment, unequal)).toMatchObject({
      verdict: 'invalid',
      reason: 'equal work: data hashes differ: da7a (baseline) / beef (optimized)',
    })
  })

  test('of unequal work leaves no curves, which would lie over the samples of the baseline', async () => {
    const { verdict, curves } = await aResult(experiment, onlyOptimized({ samplesPerStep: 32 }))
    expect([verdict.verdict, curves]).toEqual(['invalid', []])
    expect((await aResult(experiment)).curves).not.toEqual([])
  })

  test('comes after a failed launch', async () => {
    const launched = await withLaunch(0, { status: 'timed-out', wallSeconds: 60 })
    const other = await launchedPlan(experiment, onlyOptimized({ start: { data_hash: 'beef' } }))
    const mixed = launched.map((one, index) => (index === 0 ? one : (other[index] ?? one)))
    expect(assess(aRequest(), mixed).verdict.verdict).toBe('failed')
  })

  test('does not look at warm-up launches', async () => {
    const cold = (run: PlannedRun): MetricsDifference =>
      run.purpose === 'warm-up' ? { start: { versions: { torch: 'other' } } } : {}
    expect((await verdictOf(experiment, cold)).verdict).toBe('passed')
  })
})

describe('an insensitive loss limit', () => {
  const small: (run: PlannedRun) => MetricsDifference = (run) => ({
    stepSeconds: run.variant === 'baseline' ? 0.08 : 0.02,
    valLoss: 0.005,
    evaluation: { metrics: { nrmse: 0.1 + 0.001 * run.seed } },
  })
  const loss_delta = { below: 0.001, ...interval }

  test('does not pass alone', async () => {
    const { verdict, reason } = await verdictOf(gatesOf({ loss_delta }), small)
    expect([verdict, reason]).toMatchInlineSnapshot(`
      [
        "inconclusive",
        "loss_delta inconclusive: the whole interval clears the limit, but the limit is over 10% of the baseline's val_loss: a ratio gate (such as nrmse_ratio) has to pass as well, with a limit of at most 1.1x and severity: required",
      ]
    `)
  })

  test.each([
    { nrmse_ratio: { at_most: 1.03, ...interval } },
    { nrmse_ratio: { at_most: 1.1, ...interval } },
    { loss_ratio: { below: 1.03, ...interval } },
    { mine: { metric: 'val_loss', statistic: 'ratio', at_most: 0.5, ...interval } } as const,
  ])('passes beside a ratio gate of the loss or the NRMSE that passes: %o', async (ratio) => {
    const half = (run: PlannedRun) => ({ ...small(run), valLoss: run.variant === 'baseline' ? 0.005 : 0.002 })
    expect((await verdictOf(gatesOf({ loss_delta, ...ratio }), half)).verdict).toBe('passed')
  })

  test('does not pass beside a ratio gate that passes by its estimate alone', async () => {
    const byEstimate = { nrmse_ratio: { at_most: 1.03, ...interval, evidence: 'point' } } as const
    const { verdict, gates } = await verdictOf(gatesOf({ loss_delta, ...byEstimate }), small)
    expect([verdict, ...gates.map(({ status }) => status)]).toEqual([
      'inconclusive',
      'inconclusive',
      'passed',
    ])
    expect(gates[0]?.reason).toContain(
      'has to pass as well, and by its interval instead of its estimate alone',
    )
  })

  const accuracy = { metric: 'evaluation.acc', statistic: 'ratio' } as const
  test.each([
    ['only information', { nrmse_ratio: { at_most: 1.03, ...interval, severity: 'info' } }],
    ['only a warning', { nrmse_ratio: { at_most: 1.03, ...interval, severity: 'warn' } }],
    ['of another number', { any: { ...accuracy, at_most: 1.03, ...interval } }],
    ['of a number of which more is better', { any: { ...accuracy, at_least: 0.97, ...interval } }],
    ['wide itself', { nrmse_ratio: { at_most: 1.11, ...interval } }],
    ['wide, of the loss itself', { loss_ratio: { at_most: 1000, ...interval } }],
  ] as const)('does not pass beside a ratio gate that is %s', async (_, ratio) => {
    const fiveTimes = (run: PlannedRun) => {
      const metrics = { nrmse: 0.1 + 0.001 * run.seed, acc: 0.9 + 0.001 * run.seed }
      return { ...small(run), valLoss: run.variant === 'baseline' ? 0.0002 : 0.001, evaluation: { metrics } }
    }
    const { verdict, gates } = await verdictOf(gatesOf({ loss_delta, ...ratio }), fiveTimes)
    expect([verdict, ...gates.map(({ status }) => status)]).toEqual([
      'inconclusive',
      'inconclusive',
      'passed',
    ])
    expect(gates[0]?.reason).toContain('as well, with a limit of at most 1.1x and severity: required')
  })

  test('names no terms where the ratio gate that could pass does not', async () => {
    const worse = (run: PlannedRun): MetricsDifference => ({
      ...small(run),
      evaluation: { metrics: { nrmse: (run.variant === 'baseline' ? 0.1 : 0.2) + 0.001 * run.seed } },
    })
    const { gates } = await verdictOf(
      gatesOf({ loss_delta, nrmse_ratio: { at_most: 1.03, ...interval } }),
      worse,
    )
    expect(gates[0]?.reason).toMatch(/a ratio gate \(such as nrmse_ratio\) has to pass as well$/)
  })

  test('of a gate that is information stands beside one that is information', async () => {
    const info = { evidence: 'interval', severity: 'info' } as const
    const both = gatesOf({ loss_delta: { below: 0.001, ...info }, nrmse_ratio: { at_most: 1.03, ...info } })
    expect((await verdictOf(both, small)).gates.map(({ status }) => status)).toEqual(['passed', 'passed'])
  })

  test.each([
    [0.9, 'passed'],
    [0.89, 'inconclusive'],
  ])('has its mirror image where more is better: at_least %d', async (at_least, status) => {
    const falls = ({ variant, seed }: PlannedRun) => ({
      evaluation: { metrics: { acc: (variant === 'baseline' ? 0.9 : 0.85) + 0.001 * (seed % 3) } },
    })
    const acc = { metric: 'evaluation.acc', statistic: 'difference', at_least: -0.2, ...interval } as const
    const ratio = { ...accuracy, at_least, ...interval }
    const { gates } = await verdictOf(gatesOf({ acc, ratio }), falls)
    expect(gates.map((gate) => gate.status)).toEqual([status, 'passed'])
    if (status === 'inconclusive')
      expect(gates[0]?.reason).toContain(
        'a ratio gate of evaluation.acc has to pass as well, with a limit of at least 0.9x and severity: required',
      )
  })

  test('does not pass beside a ratio gate of something else', async () => {
    const memory = {
      metric: 'peak_memory_reserved_bytes',
      statistic: 'ratio',
      at_most: 1.03,
      ...interval,
    } as const
    const alike = (run: PlannedRun) => ({ ...small(run), end: { peak_memory_reserved_bytes: [3e10, 3e10] } })
    expect(await verdictOf(gatesOf({ loss_delta, memory }), alike)).toMatchObject({
      verdict: 'inconclusive',
      gates: [{ status: 'inconclusive' }, { status: 'passed' }],
    })
  })
})

test('a loss that improves beyond the limit is asked about in a same-work experiment', async () => {
  const better = (run: PlannedRun) => ({
    ...seeded(run),
    ...(run.variant === 'optimized' ? { valLoss: 0.01 } : {}),
    evaluation: { seconds: (run.variant === 'optimized' ? 1 : 2) + run.seed / 1000 },
  })
  expect((await verdictOf(experiment, better)).warnings).toEqual([
    expect.stringMatching(/^loss_delta improved by more than the limit .*same training$/),
  ])
  const ratios = gatesOf({
    loss_ratio: { at_most: 1.03, ...interval },
    half: { metric: 'val_loss', statistic: 'difference', below: 0.005, ...interval },
    wide: { metric: 'val_loss', statistic: 'ratio', at_most: 3, ...interval },
    // Of a time, which is no quality.
    quick: { metric: 'evaluation.seconds', statistic: 'ratio', at_most: 1.1, ...interval },
  })
  expect((await verdictOf(ratios, better)).warnings).toEqual([
    expect.stringMatching(/^loss_ratio, half improved by more than the limit .*same training$/),
  ])
  const luckyOnce = (run: PlannedRun) => (run.seed === 1 ? better(run) : seeded(run))
  expect((await verdictOf(experiment, luckyOnce)).warnings).toEqual([])
  expect((await verdictOf(anExperiment({ kind: 'recipe' }), better)).warnings).toEqual([])
  const memory = gatesOf({
    growth: { metric: 'peak_memory_reserved_bytes', statistic: 'difference', below: 1, ...interval },
  })
  const smaller = ({ variant }: PlannedRun) => ({
    end: { peak_memory_reserved_bytes: Array<number>(2).fill(variant === 'baseline' ? 30e9 : 20e9) },
  })
  expect(await verdictOf(memory, smaller)).toMatchObject({ verdict: 'passed', warnings: [] })
})

describe('an accuracy that collapses', () => {
  const collapsed = ({ variant, seed }: PlannedRun): MetricsDifference => ({
    evaluation: { metrics: { acc: (variant === 'baseline' ? 0.9 : 0.5) + 0.001 * (seed % 3) } },
  })
  const accuracy = { metric: 'evaluation.acc', statistic: 'difference' } as const
  const taken =
    'acc: evaluation.acc is lower by more than the limit, and the gate counts less as better. If more is better, use at_least'

  test('fails a gate that takes more for better', async () => {
    expect(
      await verdictOf(gatesOf({ acc: { ...accuracy, at_least: -0.01, ...interval } }), collapsed),
    ).toMatchObject({ verdict: 'failed', warnings: [] })
  })

  test.each([
    { below: 0.01, ...interval },
    { at_most: 0.01, severity: 'required', evidence: 'point' } as const,
    { statistic: 'ratio', at_most: 1.01, ...interval } as const,
  ])('is a warning beside a gate that takes less for better: %o', async (limit) => {
    const gates = gatesOf({ acc: { ...accuracy, ...limit } })
    expect(await verdictOf(gates, collapsed)).toMatchObject({ verdict: 'passed', warnings: [taken] })
    expect((await verdictOf({ ...gates, kind: 'recipe' }, collapsed)).warnings).toEqual([taken])
  })

  test('is none where the gate demands as much, or where it did not fall', async () => {
    const halved = gatesOf({ acc: { ...accuracy, statistic: 'ratio', at_most: 0.6, ...interval } })
    expect(await verdictOf(halved, collapsed)).toMatchObject({ verdict: 'passed', warnings: [] })
    const equal = ({ seed }: PlannedRun) => ({ evaluation: { metrics: { acc: 0.9 + 0.001 * seed } } })
    const wrong = gatesOf({ acc: { ...accuracy, below: 0.01, ...interval } })
    expect(await verdictOf(wrong, equal)).toMatchObject({ verdict: 'passed', warnings: [] })
  })

  test('is asked about the other way round as well', async () => {
    const more = gatesOf({ acc: { ...accuracy, at_least: -0.01, ...interval } })
    const risen = (run: PlannedRun) =>
      collapsed({ ...run, variant: run.variant === 'baseline' ? 'optimized' : 'baseline' })
    expect((await verdictOf(more, risen)).warnings).toEqual([
      expect.stringMatching(/^acc: evaluation\.acc is higher .*counts more as better\. .*at_most$/),
    ])
  })
})

describe('an experiment that ended before its gates had enough blocks says why, and asks for no more of them', () => {
  async function endedAfter(launches: number, reason: NotRunReason) {
    const launched = (await launchedPlan(experiment, seeded)).map((one, index) =>
      index < launches ? one : { launch: null, outcome: outcomeOf(one.outcome.run, null, null, reason) },
    )
    return assess(aRequest(), launched).verdict
  }

  test.each([
    ['decided', 'the experiment stopped once its own gates were decided, so other gates need a new run'],
    ['budget', 'the budget was spent before more blocks; raise design.gpu_minutes'],
    ['unfit', 'the machine was not fit to measure on'],
    ['failed', 'a launch failed; more blocks would not help'],
    ['incomparable', 'the runs cannot be compared; more blocks would not help'],
    ['unmeasured', 'a required gate had no number; more blocks would not help'],
    ['stopped', 'the experiment was stopped before it finished'],
  ] as const)('%s', async (reason, text) => {
    const { gates } = await endedAfter(4, reason)
    expect(gates.map((gate) => gate.reason)).toEqual(Array(2).fill(`no valid interval from 1 block; ${text}`))
  })

  test('and names no number of blocks that would decide a gate, where none would', async () => {
    const scattered = gatesOf({ speedup: { at_least: 3, ...interval } })
    const around = (run: PlannedRun) =>
      run.variant === 'optimized' ? { stepSeconds: (run.block ?? 0) % 2 ? 0.02 : 0.03 } : {}
    const launched = await launchedPlan(scattered, around)
    const toDecide = (all: readonly Launched[]) =>
      assess(aRequest({ experiment: scattered }), all).verdict.gates.map(
        ({ precision }) => precision?.toDecide,
      )
    const crashed = aLaunchRecord({}, { status: 'exited', exitCode: 1, wallSeconds: 5 })
    const withCrash = launched.map((one, index) =>
      index === 9 ? { launch: crashed, outcome: outcomeOf(one.outcome.run, crashed, null) } : one,
    )
    expect(toDecide(launched)).toMatchObject([{ status: 'within-reach' }])
    expect(toDecide(withCrash)).toEqual([{ status: 'decided' }])
  })
})

describe('a number that is the same in all runs of a variant', () => {
  /** Exactly: without the noise that `launchedPlan` adds to single numbers. */
  const fixedLoss = (variant: string) => (run: PlannedRun) =>
    run.variant === variant ? { evaluation: { val_loss: 0.02 } } : {}

  test.each(['baseline', 'optimized'])('leaves the loss gate open, of the %s as well', async (variant) => {
    const { verdict, reason } = await verdictOf(experiment, fixedLoss(variant))
    expect(verdict).toBe('inconclusive')
    expect(reason).toMatch(
      new RegExp(
        `^loss_delta inconclusive: val_loss of the ${variant} .*all 4 seeds.*no valid interval.*seed$`,
      ),
    )
  })

  test('leaves a gate open with the fewest blocks that have an interval, too', async () => {
    const three = anExperiment({ design: { blocks: 3, warm_up_launches: 0, seed: 0 } })
    expect((await verdictOf(three, fixedLoss('optimized'))).reason).toContain('with all 3 seeds')
    const tooFew = anExperiment({ design: { blocks: 2, warm_up_launches: 0, seed: 0 } })
    expect((await verdictOf(tooFew, fixedLoss('optimized'))).reason).toContain(
      'no valid interval from 2 blocks',
    )
    const two = anExperiment({
      design: { blocks: 2, warm_up_launches: 0, seed: 0 },
      gates: { speedup: { at_least: 3, ...interval } },
    })
    const fixed = ({ variant }: PlannedRun) => ({
      stepSeconds: Array<number>(40).fill(variant === 'baseline' ? 0.08 : 0.01),
    })
    expect((await verdictOf(two, fixed)).reason).toContain('in all 2 runs')
  })

  test('leaves the speed gate open, whatever the speedup', async () => {
    for (const seconds of [0.01, 0.08]) {
      const fixed = ({ variant }: PlannedRun) => ({
        stepSeconds: Array<number>(40).fill(variant === 'baseline' ? 0.08 : seconds),
      })
      expect((await verdictOf(experiment, fixed)).reason).toMatch(
        /^speedup inconclusive: seconds_per_sample of both variants .*all 4 runs.*no valid interval.*unrounded$/,
      )
    }
  })

  test('is enough if one run differs, if an estimate suffices, if the worst run decides, or if it is memory', async () => {
    const onceOther = (run: PlannedRun) => ({ evaluation: { val_loss: run.seed === 1 ? 0.0201 : 0.02 } })
    expect((await verdictOf(experiment, onceOther)).verdict).toBe('passed')
    const point = gatesOf({ loss_delta: { below: 0.001, severity: 'required', evidence: 'point' } })
    expect((await verdictOf(point, fixedLoss('baseline'))).verdict).toBe('passed')
    const level = gatesOf({ worst: { metric: 'val_loss', statistic: 'maximum', below: 1, ...interval } })
    expect((await verdictOf(level, fixedLoss('optimized'))).verdict).toBe('passed')
    const memory = gatesOf({
      growth: { metric: 'peak_memory_reserved_bytes', statistic: 'difference', below: 1, ...interval },
    })
    const alike = () => ({ end: { peak_memory_reserved_bytes: [30e9, 30e9] } })
    expect((await verdictOf(memory, alike)).verdict).toBe('passed')
  })

  test('asks for no further look, since more of the same would stay open', async () => {
    const verdict = await verdictOf(experiment, fixedLoss('baseline'))
    expect(isDecided(verdict)).toBe(true)
    expect(verdict.gates.map(({ precision }) => precision === null)).toEqual([false, true])
  })
})

test('configs that may not differ are refused', async () => {
  const configs = { baseline: { batch: 1 }, optimized: { batch: 2 } }
  expect(() => assess(aRequest({ configs }), [])).toThrow(
    'a same-work experiment may differ only under speed:',
  )
})

test('runs that fall into two groups are a warning', async () => {
  const eight = anExperiment({ design: { blocks: 8, warm_up_launches: 0, seed: 0 } })
  const twoSpeeds = ({ variant, seed }: PlannedRun) => ({
    stepSeconds: (variant === 'baseline' ? 0.08 : 0.02) * (seed % 2 ? 1.1 : 1),
  })
  expect((await verdictOf(eight, twoSpeeds)).warnings).toEqual([
    expect.stringContaining('baseline: the runs fall into two groups'),
    expect.stringContaining('optimized: the runs fall into two groups'),
  ])
})

describe('looks at the evidence', () => {
  const looks = (blocks: number[]) => anExperiment({ design: { blocks } })

  test.each([
    ['decided', 'needed, because the verdict was decided'],
    ['futile', 'run, because they had little chance to decide'],
    ['budget', 'run, because the budget is spent'],
  ] as const)('end an experiment (%s), and the rest was not needed', async (reason, why) => {
    const experiment = looks([3, 5])
    const launched = (await launchedPlan(experiment)).map((one) =>
      (one.outcome.run.block ?? 0) > 3
        ? { launch: null, outcome: outcomeOf(one.outcome.run, null, null, reason) }
        : one,
    )
    const { verdict } = assess(aRequest({ experiment }), launched)
    expect(verdict.checks[0]).toMatchObject({
      status: 'passed',
      detail: `8 of 8 launches finished; 4 more were not ${why}`,
    })
    expect(isDecided({ ...verdict, verdict: 'passed' })).toBe(true)
  })

  test('go on only for a required gate whose interval spans its limit', async () => {
    const { verdict } = await aResult(looks([1, 2]))
    const open = { ...verdict, verdict: 'inconclusive' as const }
    const gatesIn = (status: 'inconclusive' | 'not-measured') =>
      verdict.gates.map((gate) => ({ ...gate, status }))
    expect(isDecided({ ...open, gates: gatesIn('inconclusive') })).toBe(false)
    expect(isDecided({ ...open, gates: gatesIn('not-measured') })).toBe(true)
    const oneOpen = verdict.gates.map((gate, index) => ({
      ...gate,
      status: index === 0 ? ('passed' as const) : ('inconclusive' as const),
    }))
    expect(isDecided({ ...open, gates: oneOpen })).toBe(false)
    const asInformation = gatesIn('inconclusive').map((judged) => ({
      ...judged,
      gate: { ...judged.gate, severity: 'info' as const },
    }))
    expect(isDecided({ ...open, gates: asInformation })).toBe(true)
  })
})
