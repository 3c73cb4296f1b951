// What the pictures of a report are drawn from: spread over runs, bounded, and null where nobody reported it.
import { describe, expect, test } from 'vitest'
import type { LaunchEnd } from '../../../src/measure/outcome.ts'
import type { FinishedRun } from '../../../src/measure/summary.ts'
import { heldOutLoss, trainingLoss } from '../../../src/measure/traces/losses.ts'
import { spreadOf } from '../../../src/measure/traces/spread.ts'
import { QUANTILES, stepTimes } from '../../../src/measure/traces/step-times.ts'
import { timeParts } from '../../../src/measure/traces/time-parts.ts'
import { timelineOf } from '../../../src/measure/traces/timeline.ts'
import type { StepsWindow } from '../../../src/read/events.ts'
import { aFinishedRun, aLaunchRecord, metricsEvents, readMetricsLines } from '../../fixtures/builders.ts'
import { aGpuSample, aMachineRecord, aProcess } from '../../fixtures/machine/records.ts'

/** A run whose steps have these losses. */
async function withLosses(
  run: Parameters<typeof aFinishedRun>[0],
  losses: readonly number[],
): Promise<FinishedRun> {
  const finished = await aFinishedRun(run)
  const events = metricsEvents({ stepSeconds: losses.map(() => 0.1), samplesPerStep: 10 })
  let step = 0
  const lines = events.map((event) => {
    if (event.event !== 'steps') return JSON.stringify(event)
    const train_loss = losses.slice(step, step + event.step_seconds.length)
    step += event.step_seconds.length
    return JSON.stringify({ ...event, train_loss } satisfies StepsWindow)
  })
  const metrics = await readMetricsLines(lines)
  return { ...finished, metrics: metrics as FinishedRun['metrics'] }
}

describe('a spread', () => {
  test('is the mean between the least and the most of all lines', () => {
    expect(
      spreadOf(
        [
          [1, 5],
          [3, 6],
        ],
        2,
      ),
    ).toEqual({ middle: [2, 5.5], low: [1, 5], high: [3, 6] })
  })

  test('ends where one of its lines ends', () => {
    expect(
      spreadOf(
        [
          [1, null],
          [3, 6],
        ],
        2,
      ).middle,
    ).toEqual([2, null])
    expect(spreadOf([[1, Number.NaN]], 2).middle).toEqual([1, null])
    expect(spreadOf([], 1).middle).toEqual([null])
  })
})

describe('the training loss', () => {
  test('is the mean of each part, between the runs of a variant', async () => {
    const runs = [
      await withLosses({ id: 'a' }, [4, 2, 1, 1]),
      await withLosses({ id: 'b' }, [2, 2, 1, 1]),
      await withLosses({ id: 'c', variant: 'optimized' }, [8, 8, 8, 8]),
    ]
    expect(trainingLoss(runs, 2)).toEqual({
      samples: [20, 40],
      values: {
        baseline: { middle: [2.5, 1], low: [2, 1], high: [3, 1] },
        optimized: { middle: [8, 8], low: [8, 8], high: [8, 8] },
      },
      runs: { baseline: 2, optimized: 1 },
    })
  })

  test('is null where no run reports it for every step', async () => {
    expect(trainingLoss([await aFinishedRun()], 100)).toBeNull()
    expect(trainingLoss([], 100)).toBeNull()
  })

  test('has no more points than are asked for', async () => {
    const losses = Array.from({ length: 1000 }, (_, step) => 1 / (step + 1))
    expect(trainingLoss([await withLosses({}, losses)], 50)?.samples).toHaveLength(50)
  })
})

test('the held-out loss stands at the samples of the evaluations', async () => {
  const curve = heldOutLoss(
    [await aFinishedRun({ id: 'a' }, { valLoss: 0.2 }), await aFinishedRun({ id: 'b' }, { valLoss: 0.4 })],
    10,
  )
  expect(curve?.samples).toEqual([640])
  expect(curve?.values.baseline).toMatchObject({ low: [0.2], high: [0.4] })
  expect(curve?.values.optimized.middle).toEqual([null])
})

describe('step times', () => {
  test('leave out the warm-up, and steps that hold something else', async () => {
    const seconds = [100, 100, ...Array<number>(38).fill(0.1)]
    const run = await aFinishedRun({}, { stepSeconds: seconds.with(20, 50), holds: { 21: 'evaluation' } })
    const found = stepTimes([run], () => 2, 10)
    expect(found?.distributions.baseline).toMatchObject({ steps: 37 })
    expect(found?.distributions.baseline?.quantiles).toEqual(QUANTILES.map(() => 0.1))
    expect(found?.distributions.optimized).toBeNull()
    expect(found?.overRun?.values.baseline.middle.every((value) => value === 0.1)).toBe(true)
  })

  test('that are slow stay within the bins, and are the last percentile', async () => {
    const run = await aFinishedRun({}, { stepSeconds: [...Array<number>(399).fill(0.1), 9] })
    const found = stepTimes([run], () => 0, 10)?.distributions.baseline
    expect(found?.quantiles.at(-1)).toBe(9)
    expect(Math.max(...(found?.bins ?? []))).toBeLessThan(9)
    expect(found?.shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1)
  })

  test('are null without a step after the warm-up', async () => {
    expect(stepTimes([await aFinishedRun()], () => 40, 10)).toBeNull()
  })
})

test('the parts of the time sum up to the wall time, and a compile within a step counts once', async () => {
  const phase = { event: 'phase', name: 'compile', seconds: 2, step: 1 } as const
  const data = { event: 'phase', name: 'data', seconds: 3 } as const
  const run = await aFinishedRun(
    {},
    { stepSeconds: [3, ...Array<number>(39).fill(0.1)], phases: [data, phase], evaluation: { seconds: 4 } },
  )
  const parts = timeParts([run])?.baseline
  expect(parts?.start.mean).toBe(3)
  expect(parts?.compile.mean).toBe(0)
  expect(parts?.evaluation.mean).toBe(4)
  expect(Object.values(parts ?? {}).reduce((sum, { mean }) => sum + mean, 0)).toBeCloseTo(run.wallSeconds)
  expect(timeParts([run])?.optimized).toBeNull()
})

describe('a timeline', () => {
  const launchAt = async (id: string, startedAt: string, result?: LaunchEnd) => {
    const outcome = await aFinishedRun({ id })
    return { outcome, launch: aLaunchRecord({ runId: id, startedAt }, result) }
  }

  test('has the launches in their order, with long breaks shortened', async () => {
    const launched = [
      await launchAt('b', '2026-11-21T12:00:00Z'),
      await launchAt('a', '2026-11-20T12:00:00Z'),
    ]
    const timeline = timelineOf(launched, { preflight: null, records: new Map() }, 100)
    expect(timeline?.launches.map(({ runId }) => runId)).toEqual(['a', 'b'])
    expect(timeline?.hasShortGaps).toBe(true)
    expect(timeline?.seconds).toBeLessThan(130)
    expect(timeline?.readings).toEqual([])
  })

  test('has readings over all GPUs, in no more parts than are asked for', async () => {
    const record = aMachineRecord({
      samples: [
        aGpuSample({ seconds: 1, gpu: 0, sm_clock_mhz: 1000 }),
        aGpuSample({ seconds: 1, gpu: 1, sm_clock_mhz: 2000 }),
        // After the end of the launch: it would lie in the next one.
        aGpuSample({ seconds: 1e99, sm_clock_mhz: 9 }),
      ],
    })
    const watched = { preflight: null, records: new Map([['a', [record]]]) }
    const timeline = timelineOf([await launchAt('a', '2026-11-20T12:00:00Z')], watched, 6)
    const clock = timeline?.readings.find(({ name }) => name === 'sm_clock_mhz')
    expect(clock).toMatchObject({
      middle: [1500, null, null, null, null, null],
      low: [1000, null, null, null, null, null],
      high: [2000, null, null, null, null, null],
    })
    expect(timeline?.gpus).toBe(2)
  })

  test('marks where a GPU was slowed down, and where another process was seen', async () => {
    const record = aMachineRecord({
      samples: [
        aGpuSample({ seconds: 1, event_reasons: 0x40 }),
        aGpuSample({ seconds: 59, event_reasons: 4 }),
      ],
      processes: [aProcess({ seconds: 59, is_ours: false }), aProcess({ seconds: 1 })],
    })
    const watched = { preflight: null, records: new Map([['a', [record]]]) }
    const timeline = timelineOf([await launchAt('a', '2026-11-20T12:00:00Z')], watched, 6)
    expect(timeline).toMatchObject({ slowed: [0], foreign: [5] })
  })

  test('is null where nothing was launched, and stands a time that cannot be read', async () => {
    const unwatched = { preflight: null, records: new Map() }
    expect(timelineOf([], unwatched, 10)).toBeNull()
    const launched = [await launchAt('a', 'yesterday'), await launchAt('b', '')]
    expect(timelineOf(launched, unwatched, 10)?.seconds).toBe(120)
  })
})
