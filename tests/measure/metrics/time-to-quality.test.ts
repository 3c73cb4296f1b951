// When a run reached a held-out loss for good.
import { expect, test } from 'vitest'
import { timeToEachQuality, timeToQuality } from '../../../src/measure/metrics/time-to-quality.ts'
import { aFinishedRun, type MetricsDifference } from '../../fixtures/builders.ts'

/** 40 steps of 0.1 s after 3 s of set-up, with these losses, and those of parts, at these steps. */
async function run(
  losses: readonly (readonly [step: number, valLoss: number, metrics?: Record<string, number>])[],
  difference: MetricsDifference = {},
) {
  const phases = [
    { event: 'phase', name: 'import', seconds: 2 },
    { event: 'phase', name: 'data', seconds: 1 },
    { event: 'phase', name: 'compile', seconds: 0.1, step: 1 },
    { event: 'phase', name: 'checkpoint', seconds: 50 },
  ] as const
  const { metrics } = await aFinishedRun({}, { stepSeconds: 0.1, phases, ...difference })
  const evaluations = losses.map(([step, val_loss, metrics]) => ({
    event: 'evaluation' as const,
    step,
    samples_seen: step * 16,
    val_loss,
    ...(metrics && { metrics }),
  }))
  return { ...metrics, evaluations }
}

/** As a baseline that ends with these. */
const ending = (val_loss: number, metrics: Record<string, number> = {}) =>
  ({ event: 'evaluation', step: 40, samples_seen: 640, val_loss, metrics }) as const

const until = (metrics: Parameters<typeof timeToQuality>[0], valLoss: number) =>
  timeToQuality(metrics, ending(valLoss))

const above = (...losses: [name: string, value: number, limit: number][]) => ({
  kind: 'ends above',
  losses: losses.map(([name, value, limit]) => ({ name, value, limit })),
})

test('lies between two evaluations by linear interpolation', async () => {
  const metrics = await run([
    [10, 0.4],
    [20, 0.2],
    [40, 0.1],
  ])
  expect(until(metrics, 0.3)).toBeCloseTo(3 + 1.5, 12)
  expect(until(metrics, 0.1)).toBeCloseTo(3 + 4, 12)
})

test('counts what says that it lies in a step and is longer, and other phases that name a step', async () => {
  const phases = [
    { event: 'phase', name: 'import', seconds: 2, step: 1 },
    { event: 'phase', name: 'capture', seconds: 0.2, step: 1 },
  ] as const
  const late = [
    [20, 0.5],
    [40, 0.1],
  ] as const
  expect(await until(await run([...late], { phases }), 0.1)).toBeCloseTo(4 + 2.2, 12)
})

test('is the first evaluation when that is already good enough', async () => {
  expect(
    until(
      await run([
        [10, 0.4],
        [40, 0.1],
      ]),
      0.5,
    ),
  ).toBeCloseTo(4, 12)
})

test('is when it stays below: before, and where it ends above, it was below by luck', async () => {
  const metrics = await run([
    [10, 0.4],
    [20, 0.2],
    [30, 0.4],
    [40, 0.3],
  ])
  expect(until(metrics, 0.35)).toBeCloseTo(3 + 3.5, 12)
  expect(until(metrics, 0.4)).toBeCloseTo(3 + 1, 12)
  expect(until(metrics, 0.25)).toEqual(above(['val_loss', 0.3, 0.25]))
})

test('is not known where an evaluation names a step that is not its own, such as an epoch', async () => {
  const metrics = await run([
    [20, 0.4],
    [40, 0.1],
  ])
  const at = (step: number, samples_seen: number) => ({
    ...metrics,
    evaluations: metrics.evaluations.with(0, { event: 'evaluation', step, samples_seen, val_loss: 0.4 }),
  })
  expect(until(metrics, 0.3)).toBeCloseTo(3 + 2 + 2 / 3, 12)
  for (const misplaced of [at(1, 320), at(41, 656), at(20, 160)]) {
    expect(until(misplaced, 0.3)).toEqual({ kind: 'misplaced', evaluation: misplaced.evaluations[0] })
  }
})

test('does not ask that evaluations are written in the order of their steps', async () => {
  const metrics = await run([
    [40, 0.1],
    [0, 0.9],
    [20, 0.4],
  ])
  expect(until(metrics, 0.4)).toBeCloseTo(3 + 2, 12)
})

test('is not known from the last evaluation alone, or when it was never reached', async () => {
  expect(until(await run([[40, 0.1]]), 0.1)).toEqual({ kind: 'evaluated once' })
  const metrics = await run([
    [10, 0.4],
    [40, 0.2],
  ])
  expect(until(metrics, 0.1)).toEqual(above(['val_loss', 0.2, 0.1]))
})

test('of each part is that of the last one, and of the whole, and none where one never gets there', async () => {
  const metrics = await run([
    [10, 0.4, { 'val_loss/small': 0.1, 'val_loss/large': 0.7, val_loss_ema: 9 }],
    [20, 0.2, { 'val_loss/small': 0.06, 'val_loss/large': 0.3, val_loss_ema: 9 }],
    [40, 0.1, { 'val_loss/large': 0.2, 'val_loss/small': 0.04, val_loss_ema: 9 }],
  ])
  const untilEach = (valLoss: number, parts: Record<string, number>) =>
    timeToEachQuality(metrics, ending(valLoss, parts))
  const limits = { 'val_loss/small': 0.05, 'val_loss/large': 0.3, val_loss_ema: 1 }
  expect(untilEach(0.3, limits)).toBeCloseTo(3 + 3, 12)
  expect(untilEach(0.1, limits)).toBeCloseTo(3 + 4, 12)
  const small = ['val_loss/small', 0.04, 0.03] as const
  expect(untilEach(0.3, { ...limits, 'val_loss/small': 0.03 })).toEqual(above([...small]))
  expect(untilEach(0.09, { ...limits, 'val_loss/small': 0.03 })).toEqual(
    above(['val_loss', 0.1, 0.09], [...small]),
  )
  expect(untilEach(0.3, { 'val_loss/other': 0.03 })).toEqual({
    kind: 'other parts',
    missing: ['val_loss/other'],
    further: ['val_loss/large', 'val_loss/small'],
  })
  expect(untilEach(0.3, { nrmse: 0.9 })).toEqual({ kind: 'no parts' })
})

test('of each part is a time at which all are reached, not the last of those at which one was', async () => {
  const limits = { 'val_loss/one': 0.2, 'val_loss/other': 0.2 }
  const metrics = await run([
    [10, 0.4, { 'val_loss/one': 0.1, 'val_loss/other': 0.9 }],
    [20, 0.3, { 'val_loss/one': 0.9, 'val_loss/other': 0.9 }],
    [40, 0.3, { 'val_loss/one': 0.9, 'val_loss/other': 0.1 }],
  ])
  expect(timeToEachQuality(metrics, ending(0.5, limits))).toEqual(above(['val_loss/one', 0.9, 0.2]))
})

test('of each part is when all of them stay reached', async () => {
  const limits = { 'val_loss/one': 0.2, 'val_loss/other': 0.2 }
  const metrics = await run([
    [10, 0.4, limits],
    [20, 0.3, { ...limits, 'val_loss/other': 0.3 }],
    [40, 0.3, { ...limits, 'val_loss/other': 0.1 }],
  ])
  expect(timeToEachQuality(metrics, ending(0.5, limits))).toBeCloseTo(3 + 3, 12)
})

test('of each part is not before that of the whole, whatever an evaluation leaves out', async () => {
  const parts = { 'val_loss/one': 0.1, 'val_loss/other': 0.1 }
  const metrics = await run([
    [5, 0.9, { 'val_loss/one': 0.9, 'val_loss/other': 0.9 }],
    [10, 0.1, parts],
    [20, 0.9],
    [30, 0.1, { 'val_loss/one': 0.9 }],
    [40, 0.1, parts],
  ])
  expect(timeToEachQuality(metrics, ending(0.1, parts))).toBeCloseTo(3 + 4, 12)
})

test('of each part is not known where a run does not end with the parts of the baseline', async () => {
  const parts = { 'val_loss/one': 0.1, 'val_loss/other': 0.1 }
  const untilEach = async (last: Record<string, number>, quality: Record<string, number>) =>
    timeToEachQuality(
      await run([
        [10, 0.4, parts],
        [20, 0.3, parts],
        [40, 0.3, last],
      ]),
      ending(0.5, quality),
    )
  expect(await untilEach(parts, parts)).toBeCloseTo(3 + 1, 12)
  const other = (missing: string[], further: string[]) => ({ kind: 'other parts', missing, further })
  expect(await untilEach({ 'val_loss/one': 0.1 }, parts)).toEqual(other(['val_loss/other'], []))
  expect(await untilEach({ 'val_loss/one': 0.1, 'val_loss/another': 0.1 }, parts)).toEqual(
    other(['val_loss/other'], ['val_loss/another']),
  )
  expect(await untilEach(parts, { 'val_loss/one': 0.1 })).toEqual(other([], ['val_loss/other']))
})

test('of each part has not come while an evaluation leaves one out, which may be as bad as it likes', async () => {
  const limits = { 'val_loss/one': 0.2, 'val_loss/other': 0.2 }
  const metrics = await run([
    [10, 0.4, { 'val_loss/one': 0.1, 'val_loss/other': 0.9 }],
    [20, 0.3, { 'val_loss/one': 0.1 }],
    [40, 0.3, limits],
  ])
  expect(timeToEachQuality(metrics, ending(0.5, limits))).toBeCloseTo(3 + 4, 12)
  const silent = await run([
    [10, 0.4, limits],
    [20, 0.3],
    [30, 0.3, { 'val_loss/one': 0.1 }],
    [40, 0.3, limits],
  ])
  expect(timeToEachQuality(silent, ending(0.5, limits))).toBeCloseTo(3 + 4, 12)
})
