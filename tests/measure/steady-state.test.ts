// Where timing begins, and how it still changes; with fixed seeds, so that the same noise comes every time.
import { describe, expect, test } from 'vitest'
import { declaredWarmUp, logStandardError, logTrend, settledAfter } from '../../src/measure/steady-state.ts'
import { type Random, seededRandom } from '../../src/statistics/random.ts'
import { aFinishedRun, type MetricsDifference } from '../fixtures/builders.ts'
import { normal } from '../fixtures/noise.ts'

const metricsOf = async (difference: MetricsDifference) => (await aFinishedRun({}, difference)).metrics
const runsOf = (count: number, difference: (run: number) => MetricsDifference) =>
  Promise.all(Array.from({ length: count }, (_, run) => metricsOf(difference(run))))

/** 200 steps of 0.1 s with 1% of noise, the first `slow` of them slower by `factor`. */
const slowStart = (slow: number, factor: number) => (run: number) => {
  const random = seededRandom(run)
  const stepSeconds = Array.from(
    { length: 200 },
    (_, step) => 0.1 * (step < slow ? factor : 1) * Math.exp(0.01 * normal(random)),
  )
  return { stepSeconds }
}

describe('the declared warm-up', () => {
  test.each([
    [40, 10],
    [100, 10],
    [205, 21],
  ])('of %d steps is %d', async (steps, expected) => {
    expect(declaredWarmUp(await metricsOf({ stepSeconds: Array<number>(steps).fill(0.1) }))).toBe(expected)
  })
})

describe('the warm-up', () => {
  test('ends at a change point that all runs share', async () => {
    const after = settledAfter(await runsOf(4, slowStart(60, 1.2)), 20)
    expect(after).toBeGreaterThanOrEqual(60)
    // The next 40th of the 180 timed steps.
    expect(after).toBeLessThanOrEqual(60 + 5)
  })

  test('is not moved by a change below 2%', async () => {
    expect(settledAfter(await runsOf(4, slowStart(60, 1.015)), 20)).toBe(20)
  })

  test('is not moved by one run that is unlike the others', async () => {
    const runs = await runsOf(4, (run) => slowStart(run === 0 ? 60 : 0, 1.2)(run))
    expect(settledAfter(runs, 20)).toBe(20)
  })

  test('is not moved on the word of two runs', async () => {
    expect(settledAfter(await runsOf(2, slowStart(60, 1.2)), 20)).toBe(20)
  })

  test('is counted in whole periods', async () => {
    const runs = await runsOf(4, (run) => ({ ...slowStart(60, 1.2)(run), start: { period_steps: 9 } }))
    // The period of steps 57 to 65 is half slow; where the slow part ends lies within it.
    expect(settledAfter(runs, 20)).toBe(56)
  })

  test('is not moved by a batch that grows as planned', async () => {
    const growing = await runsOf(4, () => ({ stepSeconds: Array<number>(200).fill(0.1) }))
    const runs = growing.map((run) => ({
      ...run,
      steps: {
        ...run.steps,
        samples: run.steps.samples.map((count, step) => (step < 60 ? count : 2 * count)),
      },
    }))
    expect(settledAfter(runs, 20)).toBe(20)
    expect(logTrend(runs[0] ?? growing[0] ?? (await metricsOf({})), 20)).toBeCloseTo(0, 12)
  })
})

describe('the trend', () => {
  test('is the change of the logarithm from the first to the last timed step', async () => {
    const stepSeconds = Array.from({ length: 101 }, (_, step) => 0.1 * Math.exp(0.001 * step))
    expect(logTrend(await metricsOf({ stepSeconds }), 20)).toBeCloseTo(0.08, 12)
  })

  test('does not see a period for a trend', async () => {
    const stepSeconds = Array.from({ length: 62 }, (_, step) => (step % 4 === 3 ? 0.5 : 0.1))
    expect(logTrend(await metricsOf({ stepSeconds, start: { period_steps: 4 } }), 10)).toBeCloseTo(0, 12)
  })

  test('needs three periods', async () => {
    expect(logTrend(await metricsOf({ stepSeconds: Array<number>(12).fill(0.1) }), 10)).toBeNull()
  })
})

describe('the standard error within a run', () => {
  test('is that of the means of 5 batches, whatever is left behind them', async () => {
    const logs = [0, 0.1, 0, 0.1, 0.05].flatMap((log) => [log - 0.3, log + 0.3, log, log])
    const stepSeconds = [...Array<number>(10).fill(9), ...logs.map((log) => 0.1 * Math.exp(log)), 0.1]
    // Four batch means 0.05 off their mean: 4 x 0.05^2 / 4 / 5.
    expect(logStandardError(await metricsOf({ stepSeconds }), 10)).toBeCloseTo(0.05 / Math.sqrt(5), 12)
  })

  test('sees steps that go alike, which the steps by themselves hide', async () => {
    const bursts = Array.from({ length: 110 }, (_, step) => (step % 60 < 30 ? 0.1 : 0.12))
    const [error, spread] = [
      logStandardError(await metricsOf({ stepSeconds: bursts }), 10),
      Math.log(1.2) / 2,
    ]
    expect(error).toBeGreaterThan((2 * spread) / Math.sqrt(100))
  })

  test('needs 2 periods a batch', async () => {
    const steps = (length: number, seconds: number) => ({ stepSeconds: Array<number>(length).fill(seconds) })
    expect(logStandardError(await metricsOf(steps(19, 0.1)), 10)).toBeNull()
    expect(logStandardError(await metricsOf(steps(20, 0.1)), 10)).toBe(0)
  })
})

describe('on a noisy machine', () => {
  /** 5% noise of which each step keeps 80% of the step before: bursts that look like trends. */
  const bursts = (random: Random) => {
    let level = 0
    return Array.from({ length: 150 }, () => {
      level = 0.8 * level + 0.03 * normal(random)
      return 0.1 * Math.exp(level + (random() < 0.02 ? 0.5 : 0))
    })
  }

  test('the warm-up stays where it is in at least 99% of 300 experiments', async () => {
    const [template] = await runsOf(1, () => ({}))
    if (!template) throw new Error('no run')
    const random = seededRandom(11)
    const moved = Array.from({ length: 300 }, () => {
      const runs = Array.from({ length: 4 }, () => {
        const seconds = bursts(random)
        return { ...template, steps: { ...template.steps, seconds, samples: seconds.map(() => 16) } }
      })
      return settledAfter(runs, 15) > 15
    }).filter(Boolean).length
    expect(moved).toBeLessThanOrEqual(3)
  })
})
