// One number per run and metric: what is timed, after which warm-up, over which periods.
import { describe, expect, test } from 'vitest'
import { summarizeRuns } from '../../src/measure/summary.ts'
import { aFinishedRun, type MetricsDifference } from '../fixtures/builders.ts'

const summaryOf = async (metrics: MetricsDifference) => {
  const [summary] = summarizeRuns([await aFinishedRun({}, metrics)])
  if (!summary) throw new Error('no summary')
  return summary
}
const steps = (...parts: [count: number, seconds: number][]) =>
  parts.flatMap(([count, seconds]) => Array<number>(count).fill(seconds))
const compile = (step: number) => ({ event: 'phase', name: 'compile', seconds: 20, step }) as const

describe('seconds per sample', () => {
  test('is the sum of the seconds over the sum of the samples, after 10 warm-up steps', async () => {
    // Steps 11 to 20: 5 of 0.1 s and 5 of 0.3 s make 2 s for 10 x 4 samples.
    const stepSeconds = steps([10, 9], [5, 0.1], [5, 0.3])
    const summary = await summaryOf({ stepSeconds, samplesPerStep: 4 })
    expect(summary.metrics.seconds_per_sample).toBeCloseTo(2 / 40, 12)
    expect(summary.warmUpSteps).toBe(10)
  })

  test('sees every fourth step, which a median would hide', async () => {
    const stepSeconds = steps(
      [10, 1],
      ...Array<[number, number][]>(5)
        .fill([
          [3, 0.1],
          [1, 0.5],
        ])
        .flat(),
    )
    const { metrics, medianStepSeconds } = await summaryOf({ stepSeconds, samplesPerStep: 1 })
    expect(metrics.seconds_per_sample).toBeCloseTo(0.2, 12)
    expect(medianStepSeconds).toBe(0.1)
  })

  test('is taken over whole periods: a part period at the end is left out', async () => {
    // 10 warm-up steps, two periods of 4, and 3 slow steps of a third one.
    const stepSeconds = steps([10, 1], [8, 0.1], [3, 7])
    const summary = await summaryOf({ stepSeconds, samplesPerStep: 1, start: { period_steps: 4 } })
    expect(summary.metrics.seconds_per_sample).toBeCloseTo(0.1, 12)
    expect(summary).toMatchObject({ steps: 21, periodSteps: 4, timedPeriods: 2, untimedSamples: 3 })
  })

  test('is not there when no whole period is left', async () => {
    for (const metrics of [
      { stepSeconds: steps([10, 0.1]) },
      { stepSeconds: steps([9, 0.1]) },
      { stepSeconds: steps([30, 0.1]), start: { period_steps: 21 } },
    ]) {
      const summary = await summaryOf(metrics)
      expect(summary.metrics).not.toHaveProperty('seconds_per_sample')
    }
  })
})

describe('the warm-up', () => {
  test('is a tenth of a long run', async () => {
    expect((await summaryOf({ stepSeconds: steps([205, 0.1]) })).warmUpSteps).toBe(21)
  })

  test('lasts until the last compile or capture', async () => {
    const capture = { event: 'phase', name: 'capture', seconds: 1, step: 15 } as const
    expect((await summaryOf({ phases: [compile(13), capture, compile(11)] })).warmUpSteps).toBe(15)
  })

  test('is not made longer by a checkpoint, or by a compile before the first step', async () => {
    const checkpoint = { event: 'phase', name: 'checkpoint', seconds: 1, step: 30 } as const
    const early = { event: 'phase', name: 'compile', seconds: 20 } as const
    expect((await summaryOf({ phases: [checkpoint, early] })).warmUpSteps).toBe(10)
  })

  test('is the longest of all runs, for all runs', async () => {
    const runs = summarizeRuns([
      await aFinishedRun({ variant: 'baseline' }, { stepSeconds: steps([14, 1.6], [26, 0.32]) }),
      await aFinishedRun({ variant: 'optimized' }, { phases: [compile(14)] }),
    ])
    expect(runs.map(({ warmUpSteps }) => warmUpSteps)).toEqual([14, 14])
    expect(runs[0]?.metrics.seconds_per_sample).toBeCloseTo(0.02, 12)
  })

  test('is of the same samples where a recipe takes more steps for them', async () => {
    const runsOf = async (phases: MetricsDifference['phases'] = []) =>
      summarizeRuns([
        await aFinishedRun({ variant: 'baseline' }, { stepSeconds: steps([100, 0.6]), samplesPerStep: 6 }),
        await aFinishedRun(
          { variant: 'optimized' },
          { stepSeconds: steps([600, 0.1]), samplesPerStep: 1, phases },
        ),
      ])
    // A tenth of the steps of each, so not the 60 of the recipe of the baseline's 100.
    expect((await runsOf()).map(({ warmUpSteps }) => warmUpSteps)).toEqual([10, 60])
    // Its 73 samples end within the baseline's 13th step.
    expect((await runsOf([compile(73)])).map(({ warmUpSteps }) => warmUpSteps)).toEqual([13, 78])
  })

  test('of a run with fewer samples than that is as long as if it went on', async () => {
    const [short] = summarizeRuns([
      await aFinishedRun({ variant: 'baseline' }, { stepSeconds: steps([20, 0.1]), samplesPerStep: 4 }),
      await aFinishedRun(
        { variant: 'optimized' },
        { stepSeconds: steps([100, 0.1]), samplesPerStep: 4, phases: [compile(30)] },
      ),
    ])
    expect(short).toMatchObject({ steps: 20, warmUpSteps: 30 })
    expect(short?.metrics).not.toHaveProperty('seconds_per_sample')
  })

  test('lasts until the runs of each variant have settled', async () => {
    const slowFor = (slow: number) => ({ stepSeconds: steps([slow, 0.2], [100 - slow, 0.1]) })
    const blocks = await Promise.all(
      [1, 2, 3].map(async (block) => [
        await aFinishedRun({ variant: 'baseline', block }, slowFor(10)),
        await aFinishedRun({ variant: 'optimized', block }, slowFor(28)),
      ]),
    )
    expect(new Set(summarizeRuns(blocks.flat()).map(({ warmUpSteps }) => warmUpSteps))).toEqual(new Set([28]))
  })

  test('is not what a warm-up launch with other steps would have', async () => {
    const runs = summarizeRuns([
      await aFinishedRun(
        { purpose: 'warm-up', block: null },
        { stepSeconds: steps([900, 0.1]), phases: [compile(30)] },
      ),
      await aFinishedRun({ block: 1 }, { stepSeconds: steps([60, 0.1]) }),
    ])
    expect(runs.map(({ warmUpSteps }) => warmUpSteps)).toEqual([10, 10])
  })

  test('has its samples, beyond the end of a run too', async () => {
    const declaring = await aFinishedRun(
      { variant: 'optimized' },
      { stepSeconds: steps([100, 0.1]), phases: [compile(30)] },
    )
    const short = await aFinishedRun({ variant: 'baseline' }, { stepSeconds: steps([20, 0.1]) })
    expect(summarizeRuns([declaring, short]).map(({ warmUpSamples }) => warmUpSamples)).toEqual([480, 480])
  })

  test('is what warm-up launches declare as long as nothing else is known', async () => {
    const [summary] = summarizeRuns([
      await aFinishedRun(
        { purpose: 'warm-up', block: null },
        { stepSeconds: steps([60, 0.1]), phases: [compile(30)] },
      ),
    ])
    expect(summary?.warmUpSteps).toBe(30)
  })

  test('survives a trainer that reports 300,000 compiles', async () => {
    const run = await aFinishedRun()
    const phases = Array.from({ length: 300_000 }, () => ({
      name: 'compile' as const,
      seconds: 0,
      step: 12,
    }))
    const [summary] = summarizeRuns([{ ...run, metrics: { ...run.metrics, phases } }])
    expect(summary?.warmUpSteps).toBe(12)
  })
})

describe('without slow steps', () => {
  const evaluatedAt = (step: number, val_loss: number, part: number) => ({
    event: 'evaluation' as const,
    step,
    samples_seen: step * 16,
    val_loss,
    metrics: { 'val_loss/part': part },
  })
  const runOf = async (variant: 'baseline' | 'optimized', stepSeconds: number[], start = {}) => {
    const run = await aFinishedRun({ variant }, { stepSeconds, start })
    const evaluations = [evaluatedAt(20, 0.4, 0.9), evaluatedAt(30, 0.2, 0.7), evaluatedAt(40, 0.1, 0.3)]
    return { ...run, metrics: { ...run.metrics, evaluations } }
  }

  test('all times are those of a run that never waits after its warm-up', async () => {
    const waiting = await runOf('baseline', steps([10, 1], [15, 0.1], [15, 0.5]))
    const [summary] = summarizeRuns([waiting])
    expect(summary?.metrics).toMatchObject({ seconds_per_sample: expect.closeTo(9 / 480, 12) })
    // 15 steps that waited 0.4 s each.
    expect(summary?.metrics.total_seconds_at_fastest_steps).toBeCloseTo(
      (waiting.metrics.end.total_seconds ?? 0) - 6,
      12,
    )
    expect(summary?.metrics.gpu_hours_at_fastest_steps).toBeCloseTo(
      ((waiting.wallSeconds - 6) * 2) / 3600,
      12,
    )
    // 10 s of warm-up, which stays, and 30 steps of 0.1 s.
    expect(summary?.metrics).toMatchObject({
      seconds_per_sample_at_fastest_steps: expect.closeTo(0.1 / 16, 12),
      time_to_quality_seconds_at_fastest_steps: expect.closeTo(13, 12),
      time_to_each_quality_seconds_at_fastest_steps: expect.closeTo(13, 12),
    })
  })

  test('an optimized run has its own, until it is as good as the baseline', async () => {
    const baseline = await runOf('baseline', steps([40, 1]))
    const better = await runOf('optimized', steps([10, 1], [15, 0.1], [15, 0.5]))
    const evaluations = [evaluatedAt(20, 0.2, 0.9), evaluatedAt(30, 0.1, 0.4), evaluatedAt(40, 0.05, 0.2)]
    const optimized = { ...better, metrics: { ...better.metrics, evaluations } }
    const [, summary] = summarizeRuns([baseline, optimized])
    // The whole loss after 30 steps, the part half way from there to 40.
    expect(summary?.metrics).toMatchObject({
      time_to_quality_seconds_at_fastest_steps: expect.closeTo(12, 12),
      time_to_each_quality_seconds_at_fastest_steps: expect.closeTo(12.5, 12),
    })
  })

  test('an optimized run that ends above has none, and the losses that it ends above', async () => {
    const baseline = await runOf('baseline', steps([40, 1]))
    const other = await runOf('optimized', steps([40, 0.1]))
    const evaluations = [evaluatedAt(20, 0.2, 0.9), evaluatedAt(40, 0.1, 0.4)]
    const worse = { ...other, metrics: { ...other.metrics, evaluations } }
    const [, summary] = summarizeRuns([baseline, worse])
    expect(summary?.metrics.time_to_quality_seconds).toBeCloseTo(4, 12)
    expect(summary?.metrics.time_to_each_quality_seconds).toBeUndefined()
    expect(summary?.noTimeToQuality).toEqual({
      time_to_each_quality_seconds: {
        kind: 'ends above',
        losses: [{ name: 'val_loss/part', value: 0.4, limit: 0.3 }],
      },
    })
    const better = await runOf('optimized', steps([40, 0.1]))
    const [, reached] = summarizeRuns([
      baseline,
      {
        ...better,
        metrics: {
          ...better.metrics,
          evaluations: [evaluatedAt(20, 0.1, 0.9), evaluatedAt(40, 0.1, 0.3)],
        },
      },
    ])
    expect(reached?.metrics.time_to_quality_seconds).toBeCloseTo(2, 12)
    expect(reached?.metrics.time_to_each_quality_seconds).toBeCloseTo(4, 12)
    expect(reached?.noTimeToQuality).toEqual({})
  })

  test('are not told of so few steps that luck would tell them', async () => {
    const [baseline, optimized] = summarizeRuns([
      await runOf('baseline', steps([40, 1])),
      await runOf('optimized', steps([40, 1]), { period_steps: 4 }),
    ])
    // Both are looked at over four steps.
    for (const summary of [baseline, optimized])
      expect(summary?.metrics).not.toHaveProperty('seconds_per_sample_at_fastest_steps')
  })
})

describe('a summary', () => {
  test('has the last evaluation, and says after how many samples it was', async () => {
    const run = await aFinishedRun()
    const [last] = run.metrics.evaluations
    if (!last) throw new Error('no evaluation')
    const evaluations = [
      { ...last, val_loss: 9, samples_seen: 16 },
      { ...last, metrics: { nrmse: 0.1, 'nrmse/a': 0.2 } },
    ]
    const [summary] = summarizeRuns([{ ...run, metrics: { ...run.metrics, evaluations } }])
    expect(summary).toMatchObject({
      evaluatedAfterSamples: 640,
      metrics: { val_loss: 0.02, 'evaluation.nrmse': 0.1, 'evaluation.nrmse/a': 0.2 },
    })
  })

  test('has the hash of the held-out set of its last evaluation first', async () => {
    const hashOf = async (hashes: readonly (string | undefined)[]) => {
      const run = await aFinishedRun()
      const [last] = run.metrics.evaluations
      if (!last) throw new Error('no evaluation')
      const evaluations = hashes.map((data_hash) => ({ ...last, data_hash }))
      return summarizeRuns([{ ...run, metrics: { ...run.metrics, evaluations } }])[0]?.evaluationHash
    }
    expect(await hashOf(['a', 'a'])).toBe('a')
    expect(await hashOf(['a', 'b', 'c'])).toBe('c, a, b')
    // The same two sets, and another one at the end.
    expect(await hashOf(['a', 'b', 'a'])).not.toBe(await hashOf(['a', 'b']))
    expect(await hashOf(['a', undefined])).not.toBe(await hashOf(['a', 'a']))
    expect(await hashOf([undefined, undefined])).toBeNull()
  })

  test('has the peak memory of the worst rank, and none without a GPU', async () => {
    const { metrics } = await summaryOf({ end: { peak_memory_reserved_bytes: [3e9, 5e9] } })
    expect(metrics.peak_memory_reserved_bytes).toBe(5e9)
    expect(metrics).not.toHaveProperty('peak_memory_allocated_bytes')
  })

  test('has the allocation retries of the worst rank', async () => {
    const { metrics } = await summaryOf({ end: { allocation_retries: [0, 3] } })
    expect(metrics.allocation_retries).toBe(3)
  })

  test('counts samples from the steps, beside what run_end says', async () => {
    expect(await summaryOf({ end: { samples: 1 } })).toMatchObject({ samples: 640, reportedSamples: 1 })
  })

  test('adds up set-up phases without checkpoints', async () => {
    const phases = [
      { event: 'phase', name: 'import', seconds: 3 },
      { event: 'phase', name: 'compile', seconds: 20, step: 1 },
      { event: 'phase', name: 'checkpoint', seconds: 100, step: 40 },
    ] as const
    expect((await summaryOf({ phases })).setUpSeconds).toBe(23)
  })

  test('accounts for steps, all phases, and the evaluations that say how long they took', async () => {
    const phases = [
      { event: 'phase', name: 'compile', seconds: 20, step: 1 },
      { event: 'phase', name: 'checkpoint', seconds: 100, step: 40 },
    ] as const
    expect((await summaryOf({ phases })).accountedSeconds).toBeCloseTo(123.2, 9)
    expect((await summaryOf({ phases, evaluation: { seconds: 7 } })).accountedSeconds).toBeCloseTo(130.2, 9)
  })

  test('counts what comes one after the other: steps, evaluations and phases, but what lies in its step and checkpoints', async () => {
    const phases = [
      { event: 'phase', name: 'import', seconds: 3 },
      { event: 'phase', name: 'compile', seconds: 0.0808, step: 1 },
      { event: 'phase', name: 'compile', seconds: 0.0809, step: 1 },
      { event: 'phase', name: 'capture', seconds: 2, step: 3 },
      { event: 'phase', name: 'capture', seconds: 0.01, step: 41 },
      { event: 'phase', name: 'compile', seconds: 30 },
      { event: 'phase', name: 'data', seconds: 5 },
      { event: 'phase', name: 'build', seconds: 11 },
      { event: 'phase', name: 'data', seconds: 50, step: 1 },
      { event: 'phase', name: 'checkpoint', seconds: 100 },
    ] as const
    const found = await summaryOf({ phases, evaluation: { seconds: 7 } })
    expect(found.successiveSeconds).toBeCloseTo(3.2 + 3 + 0.0809 + 2 + 0.01 + 30 + 5 + 11 + 50 + 7, 9)
    expect(found.longestPhaseSeconds).toBe(100)
    expect((await summaryOf({})).longestPhaseSeconds).toBe(0)
  })

  test('has the median of the timed steps, between the middle two of an even number', async () => {
    const medianOf = async (...timed: number[]) =>
      (await summaryOf({ stepSeconds: [...steps([10, 1]), ...timed] })).medianStepSeconds
    expect(await medianOf(0.5, 0.1, 0.2, 0.4)).toBeCloseTo(0.3, 12)
    expect(await medianOf(0.5, 0.1, 0.2)).toBe(0.2)
  })

  test('has the share of the timed seconds that waited for data, if every step reports it', async () => {
    const run = await aFinishedRun()
    const waits = Array<number>(40).fill(0.02)
    const shareOf = (dataWaitSeconds: number[]) => {
      const metrics = { ...run.metrics, steps: { ...run.metrics.steps, dataWaitSeconds } }
      return summarizeRuns([{ ...run, metrics }])[0]?.metrics.data_wait_share
    }
    expect(shareOf(waits)).toBeCloseTo(0.25, 12)
    expect(shareOf(waits.slice(20))).toBeUndefined()
    const short = await aFinishedRun({}, { stepSeconds: steps([10, 0.1]) })
    const metrics = { ...short.metrics, steps: { ...short.metrics.steps, dataWaitSeconds: waits.slice(30) } }
    expect(summarizeRuns([{ ...short, metrics }])[0]?.metrics).not.toHaveProperty('data_wait_share')
  })

  test('has what gates name beside it: data wait, GPU hours and the time to the quality of the baseline', async () => {
    const evaluated = (valLoss: number) => async (variant: 'baseline' | 'optimized') => {
      const run = await aFinishedRun({ variant }, { stepSeconds: variant === 'baseline' ? 0.2 : 0.1 })
      const [last] = run.metrics.evaluations
      if (!last) throw new Error('no evaluation')
      const evaluations = [
        { ...last, step: 20, samples_seen: 320, val_loss: 0.04 },
        { ...last, val_loss: valLoss },
      ]
      return { ...run, metrics: { ...run.metrics, evaluations } }
    }
    const [baseline, optimized] = summarizeRuns([
      await evaluated(0.02)('baseline'),
      await evaluated(0.01)('optimized'),
    ])
    expect(baseline?.metrics.time_to_quality_seconds).toBeCloseTo(8, 12)
    // Two thirds of the way from step 20 to step 40.
    expect(optimized?.metrics.time_to_quality_seconds).toBeCloseTo(2 + 4 / 3, 12)
    // 60 s on 2 processes.
    expect(optimized?.metrics.gpu_hours).toBeCloseTo(120 / 3600, 12)
  })

  test('of an optimized run holds its training losses against the baseline of its own block', async () => {
    const withLoss = async (variant: 'baseline' | 'optimized', block: number, loss: number) => {
      const run = await aFinishedRun({ variant, block })
      const trainLoss = run.metrics.steps.seconds.map(() => loss)
      return { ...run, metrics: { ...run.metrics, steps: { ...run.metrics.steps, trainLoss } } }
    }
    const runs = summarizeRuns([
      await withLoss('baseline', 1, 0.1),
      await withLoss('optimized', 2, 0.75),
      await withLoss('baseline', 2, 0.5),
    ])
    expect(runs.map(({ sameSeed }) => sameSeed?.largestDifference ?? null)).toEqual([null, 0.25, null])
  })

  test('is made of no run at all', () => {
    expect(summarizeRuns([])).toEqual([])
  })
})

test('training losses of some steps tell seeds apart still, and no last loss', async () => {
  const run = await aFinishedRun()
  const lossesOf = (trainLoss: number[]) => {
    const metrics = { ...run.metrics, steps: { ...run.metrics.steps, trainLoss } }
    const [summary] = summarizeRuns([{ ...run, metrics }])
    return [summary?.firstTrainLosses, summary?.lastTrainLoss]
  }
  expect(lossesOf(Array.from({ length: 40 }, (_, step) => 40 - step))).toEqual([[40, 39, 38], 2])
  expect(lossesOf([9, 8, 7, 6])).toEqual([[9, 8, 7], null])
  expect(lossesOf([])).toEqual([[], null])
})
