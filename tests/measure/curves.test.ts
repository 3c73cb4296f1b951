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
    0,
  )
  expect(curve).toMatchObject({ metric: 'seconds_per_sample' })
  expect(curve?.samples.at(0)).toBe(32)
  expect(curve?.samples.at(-1)).toBe(48 * 16)
  expect(curve?.values.baseline.at(0)).toBeCloseTo(0.02)
  expect(curve?.values.baseline.at(-1)).toBeCloseTo(0.01)
  expect(curve?.values.optimized.at(-1)).toBeCloseTo(0.0025)
})

it('there is none without a measured run of both variants, nor of losses that are not reported', async () => {
  const baseline = await aFinishedRun()
  const warmUp = await aFinishedRun({ ...OPTIMIZED, purpose: 'warm-up', block: null })
  expect(curvesOf([baseline, warmUp], 0)).toEqual([])
  const both = curvesOf([baseline, await aFinishedRun(OPTIMIZED)], 0)
  expect(both.map(({ metric }) => metric)).toEqual(['seconds_per_sample'])
})

it('times begin after the warm-up steps, whose compile would flatten all else', async () => {
  const steps = Array.from({ length: 40 }, (_, step) => (step === 0 ? 60 : 0.08))
  const runs = [
    await aFinishedRun({}, { stepSeconds: steps }),
    await aFinishedRun(OPTIMIZED, { stepSeconds: steps }),
  ]
  const [curve] = curvesOf(runs, 10)
  expect(Math.max(...(curve?.values.baseline ?? []))).toBeCloseTo(0.005)
  expect(curve?.samples.at(-1)).toBe(640)
  expect(curve?.samples.at(0)).toBeGreaterThan(160)
})
