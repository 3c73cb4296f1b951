// What a chart is drawn from: means over the measured runs of a variant, in parts of equal length.
import { expect, it } from 'vitest'
import { curvesOf } from '../../src/measure/curves.ts'
import { aFinishedRun } from '../fixtures/builders.ts'

const OPTIMIZED = { variant: 'optimized' } as const

it('a curve has the mean of the runs at each part of the training', async () => {
  const steps = Array.from({ length: 48 }, (_, step) => (step < 24 ? 0.16 : 0.08))
  const [curve] = curvesOf(
    [
      await aFinishedRun({}, { stepSeconds: steps }),
      await aFinishedRun({}, { stepSeconds: steps.map((seconds) => seconds * 3) }),
      await aFinishedRun(OPTIMIZED, { stepSeconds: steps.map((seconds) => seconds / 2) }),
    ],
    () => 0,
  )
  expect(curve).toMatchObject({ metric: 'seconds_per_sample' })
  expect(curve?.samples.at(0)).toBe(32)
  expect(curve?.samples.at(-1)).toBe(48 * 16)
  expect(curve?.values.baseline.at(0)).toBeCloseTo(0.02)
  expect(curve?.values.baseline.at(-1)).toBeCloseTo(0.01)
  expect(curve?.values.optimized.at(-1)).toBeCloseTo(0.0025)
})

it('losses have a curve of their own where every run reports them, from the first step on', async () => {
  const withLoss = async (variant: 'baseline' | 'optimized', factor: number) => {
    const run = await aFinishedRun({ variant })
    const trainLoss = run.metrics.steps.seconds.map((_, step) => factor * (40 - step))
    return { ...run, metrics: { ...run.metrics, steps: { ...run.metrics.steps, trainLoss } } }
  }
  const runs = [await withLoss('baseline', 1), await withLoss('baseline', 3), await withLoss('optimized', 4)]
  const [losses, seconds] = curvesOf(runs, () => 10)
  expect([losses?.metric, seconds?.metric]).toEqual(['train_loss', 'seconds_per_sample'])
  // 40 steps in 24 parts: the first has 2 of them, the last one.
  expect(losses?.values.baseline.at(0)).toBeCloseTo((2 * (40 + 39)) / 2)
  expect(losses?.values.optimized.at(-1)).toBeCloseTo(4)
  const unlike = [...runs, await aFinishedRun({ variant: 'optimized' })]
  expect(curvesOf(unlike, () => 10).map(({ metric }) => metric)).toEqual(['seconds_per_sample'])
})

it('what is learned alike has the same curve, whatever the steps', async () => {
  // The loss falls by 0.5 with every sample; 4 steps of 16 samples, or one of 64.
  const learning = async (variant: 'baseline' | 'optimized', samplesPerStep: number[]) => {
    const run = await aFinishedRun(
      { variant },
      { stepSeconds: samplesPerStep.map((count) => count / 200), samplesPerStep },
    )
    const after = (step: number) =>
      samplesPerStep.slice(0, step + 1).reduce((total, count) => total + count, 0)
    const trainLoss = samplesPerStep.map((count, step) => 1000 - (after(step) - count / 2) / 2)
    return { ...run, metrics: { ...run.metrics, steps: { ...run.metrics.steps, trainLoss } } }
  }
  const baseline = await learning('baseline', Array<number>(48).fill(16))
  const grown = [...Array<number>(24).fill(16), ...Array<number>(6).fill(64)]
  const [losses, seconds] = curvesOf([baseline, await learning('optimized', grown)], () => 0)
  expect(losses?.samples).toHaveLength(12)
  const values = losses?.values ?? { baseline: [], optimized: [] }
  for (const [part, value] of values.baseline.entries()) expect(values.optimized[part]).toBeCloseTo(value, 9)
  for (const value of seconds?.values.optimized ?? []) expect(value).toBeCloseTo(0.005, 9)
})

it('steps larger than half of all samples have no curve', async () => {
  const runs = [
    await aFinishedRun({}, { stepSeconds: [1, 1, 1], samplesPerStep: [16, 16, 64] }),
    await aFinishedRun(OPTIMIZED, { stepSeconds: [1, 1, 1], samplesPerStep: [16, 16, 64] }),
  ]
  expect(curvesOf(runs, () => 0)).toEqual([])
})

it('there is none without a measured run of both variants, nor of losses that are not reported', async () => {
  const baseline = await aFinishedRun()
  const warmUp = await aFinishedRun({ ...OPTIMIZED, purpose: 'warm-up', block: null })
  expect(curvesOf([baseline, warmUp], () => 0)).toEqual([])
  const both = curvesOf([baseline, await aFinishedRun(OPTIMIZED)], () => 0)
  expect(both.map(({ metric }) => metric)).toEqual(['seconds_per_sample'])
})

it('times begin after the warm-up steps, whose compile would flatten all else', async () => {
  const steps = Array.from({ length: 40 }, (_, step) => (step === 0 ? 60 : 0.08))
  const runs = [
    await aFinishedRun({}, { stepSeconds: steps }),
    await aFinishedRun(OPTIMIZED, { stepSeconds: steps }),
  ]
  const [curve] = curvesOf(runs, () => 10)
  expect(Math.max(...(curve?.values.baseline ?? []))).toBeCloseTo(0.005)
  expect(curve?.samples.at(-1)).toBe(640)
  expect(curve?.samples.at(0)).toBeGreaterThan(160)
})

it('times begin after the warm-up steps of each run, of which a recipe may have more', async () => {
  const steps = (count: number, slow: number) =>
    Array.from({ length: count }, (_, step) => (step < slow ? 60 : 0.08))
  const runs = [
    await aFinishedRun({}, { stepSeconds: steps(40, 10) }),
    await aFinishedRun(OPTIMIZED, { stepSeconds: steps(80, 20), samplesPerStep: 8 }),
  ]
  const [curve] = curvesOf(runs, ({ run }) => (run.variant === 'optimized' ? 20 : 10))
  expect(Math.max(...(curve?.values.baseline ?? []))).toBeCloseTo(0.005)
  expect(Math.max(...(curve?.values.optimized ?? []))).toBeCloseTo(0.01)
})
