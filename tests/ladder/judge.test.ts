// What each rung of a ladder gives, from launches between those of the baseline.
import { describe, expect, test } from 'vitest'
import { judgeLadder, type RungResult } from '../../src/ladder/judge.ts'
import type { LadderLaunch } from '../../src/ladder/record.ts'
import { aLadder, aRung, type LaunchSpec } from '../fixtures/ladders.ts'

const baseline = (stepSeconds = 0.08): LaunchSpec => ({ training: 'baseline', stepSeconds })
const alone = (stepSeconds: number, difference: Partial<LaunchSpec> = {}): LaunchSpec => ({
  training: 'a alone',
  stepSeconds,
  ...difference,
})

async function resultOf(...sittings: LaunchSpec[][]): Promise<RungResult> {
  const [first] = judgeLadder(await aLadder([aRung('a')], sittings)).rungs
  if (first === undefined) throw new Error('a ladder of one rung has one result')
  return first.alone
}

const ratioOf = ({ speedup }: RungResult) => speedup?.ratio ?? Number.NaN

describe('a speedup', () => {
  test('is against the mean of the baseline launches right before and after it', async () => {
    const result = await resultOf([baseline(1), baseline(0.08), alone(0.04), baseline(0.16), baseline(1)])
    expect(ratioOf(result)).toBeCloseTo(Math.sqrt(0.08 * 0.16) / 0.04, 9)
  })

  test('is against the one before, where none came after', async () => {
    expect(ratioOf(await resultOf([baseline(), baseline(), alone(0.04)]))).toBeCloseTo(2, 9)
  })

  test('is against the baseline of its own sitting, however slow another was', async () => {
    const result = await resultOf([baseline(8), baseline(8)], [baseline(), alone(0.04), baseline()])
    expect(ratioOf(result)).toBeCloseTo(2, 9)
  })

  test('is that of the last launch', async () => {
    const sittings = [0.05, 0.04].map((stepSeconds) => [baseline(), alone(stepSeconds), baseline()])
    expect(ratioOf(await resultOf(...sittings))).toBeCloseTo(2, 9)
  })

  test('is of an earlier sitting, where the machine disturbed the last', async () => {
    const disturbed = alone(0.02, { disturbance: 'a foreign process' })
    const result = await resultOf([baseline(), alone(0.04), baseline()], [baseline(), disturbed, baseline()])
    expect(ratioOf(result)).toBeCloseTo(2, 9)
  })

  test('is not against a baseline launch that the machine disturbed', async () => {
    const disturbed = { ...baseline(8), disturbance: 'a GPU was slowed down' }
    expect(ratioOf(await resultOf([baseline(), alone(0.04), disturbed, baseline()]))).toBeCloseTo(2, 9)
  })
})

describe('the word of a rung', () => {
  const around = (...launches: LaunchSpec[]) => [
    baseline(0.0801),
    ...launches,
    baseline(0.0799),
    baseline(0.08),
  ]

  test.each([
    ['gain', 0.04],
    ['no-gain', 0.0799],
    ['loss', 0.12],
  ])('is %s for %f s against 0.08 s a step', async (word, stepSeconds) => {
    expect((await resultOf(around(alone(stepSeconds)))).verdict).toBe(word)
  })

  test('is open where the launches scatter too much to tell a gain of 2% from none', async () => {
    const scattered = [baseline(0.08), alone(0.075), baseline(0.084), baseline(0.08)]
    const { gain, verdict } = await resultOf(scattered)
    expect(gain?.bounds?.lower).toBeLessThan(1)
    expect(gain?.bounds?.upper).toBeGreaterThan(1.02)
    expect(verdict).toBe('open')
  })

  test('is no gain, however low the interval reaches, where it ends below 2%', async () => {
    const { gain, verdict } = await resultOf([baseline(0.08), alone(0.081), baseline(0.0804), baseline(0.08)])
    expect(gain?.bounds?.upper).toBeLessThan(1.02)
    expect(gain?.bounds?.upper).toBeGreaterThan(1)
    expect(verdict).toBe('no-gain')
  })

  test('is open where all launches took equally long, whatever it took itself: clocks that coarse show no scatter', async () => {
    expect((await resultOf([baseline(), alone(0.08), baseline()])).verdict).toBe('open')
    expect((await resultOf([baseline(), alone(0.079), baseline()])).verdict).toBe('open')
  })

  test('is open with one baseline launch: nobody knows how it scatters', async () => {
    expect((await resultOf([baseline(), alone(0.04)])).verdict).toBe('open')
  })

  test('is not active when the trainer reads back what it reads back without it', async () => {
    const idle = alone(0.04, { effective: { switch: 'baseline' } })
    expect((await resultOf(around(idle))).verdict).toBe('not-active')
  })

  test('is not comparable for other work', async () => {
    const result = await resultOf(around(alone(0.04, { samplesPerStep: 8 })))
    expect(result.verdict).toBe('not-comparable')
    expect(result.problems).toEqual([expect.stringContaining('training samples differ')])
  })

  test('is failed for the reason of its launch', async () => {
    const failure = { rank: 0, cause: 'out-of-memory', message: 'CUDA out of memory', step: 3 } as const
    const { verdict, measurement } = await resultOf(around(alone(0.04, { failure })))
    expect(verdict).toBe('failed')
    expect(measurement).toMatchObject({ reason: 'out-of-memory' })
  })

  test('is not comparable, and has no speedup, where nothing is left after the warm-up', async () => {
    const result = await resultOf(around(alone(0.04, { stepSeconds: Array<number>(10).fill(0.04) })))
    expect(result).toMatchObject({ verdict: 'not-comparable', speedup: null, gain: null })
  })

  test('is not comparable in a sitting without a baseline launch', async () => {
    const failure = { rank: 0, cause: 'error', message: 'NCCL error', step: null } as const
    const result = await resultOf([{ ...baseline(), failure }, alone(0.04)])
    expect(result).toMatchObject({
      verdict: 'not-comparable',
      problems: ['no baseline launch of its sitting finished undisturbed'],
      speedup: null,
      measurement: { lossDelta: null },
    })
  })

  test('is not measured for a launch that the machine disturbed, until it is made again', async () => {
    const disturbed = alone(0.04, { disturbance: 'process 7 computed on its GPUs at the same time' })
    expect((await resultOf(around(disturbed))).verdict).toBe('not-measured')
    expect((await resultOf(around(disturbed), around(alone(0.04)))).verdict).toBe('gain')
  })
})

test('a rung whose own steps scatter is less certain than one that is as fast throughout', async () => {
  const around = (stepSeconds: number | number[]) =>
    resultOf([baseline(0.0801), { training: 'a alone', stepSeconds }, baseline(0.0799)])
  const widthOf = ({ gain }: RungResult) => Math.log((gain?.bounds?.upper ?? 0) / (gain?.bounds?.lower ?? 1))
  const steady = await around(0.075)
  const waiting = await around(Array.from({ length: 40 }, (_, step) => (step % 20 < 10 ? 0.06 : 0.09)))
  expect(widthOf(waiting)).toBeGreaterThan(5 * widthOf(steady))
  expect([steady.verdict, waiting.verdict]).toEqual(['gain', 'open'])
})

test('a rung is compared with what was launched beside it, where another call launched that too', async () => {
  const rungs = [aRung('a'), aRung('b', { sumBefore: 'a alone' })]
  const a = (stepSeconds: number): LaunchSpec => ({ training: 'a alone', stepSeconds })
  const b: LaunchSpec = { training: 'sum up to b', stepSeconds: 0.04 }
  const sittings = [
    [baseline(), a(0.05), b, baseline()],
    [baseline(), a(0.06), baseline()],
  ]
  const [, judged] = judgeLadder(await aLadder(rungs, sittings)).rungs
  expect(judged?.sum.gain?.ratio).toBeCloseTo(1.25, 9)
})

test('the optimized variant as a whole is judged against the baseline', async () => {
  const launches = [baseline(0.0801), { training: 'optimized', stepSeconds: 0.02 }, baseline(0.0799)]
  const { optimized } = judgeLadder(await aLadder([aRung('a')], [launches]))
  expect(optimized).toMatchObject({ verdict: 'gain', gain: { ratio: expect.closeTo(4, 3) } })
})

test('a rung that needs others is judged by what it adds to them', async () => {
  const rung = aRung('b', { needs: ['a'], from: 'what b needs' })
  const launches = [
    baseline(0.0801),
    { training: 'what b needs', stepSeconds: 0.02 },
    { training: 'b alone', stepSeconds: 0.04 },
    baseline(0.0799),
  ]
  const [result] = judgeLadder(await aLadder([rung], [launches])).rungs
  expect(result?.alone.speedup?.ratio).toBeCloseTo(2, 3)
  expect(result?.alone.gain?.ratio).toBeCloseTo(0.5, 9)
  expect(result?.alone).toMatchObject({ verdict: 'loss', readBack: [{ key: 'switch' }] })
})

describe('a gain over another rung', () => {
  const rungs = [aRung('a'), aRung('b', { sumBefore: 'sum up to a' })]
  const sumUpTo = (name: string, stepSeconds: number, difference: Partial<LaunchSpec> = {}): LaunchSpec => ({
    training: `sum up to ${name}`,
    stepSeconds,
    ...difference,
  })
  const sumOf = async (...sittings: LaunchSpec[][]) =>
    judgeLadder(await aLadder(rungs, sittings)).rungs[1]?.sum

  test('scatters as two launches do, where both stand beside the same baseline launches', async () => {
    const sum = await sumOf([baseline(0.0801), sumUpTo('a', 0.05), sumUpTo('b', 0.04), baseline(0.0799)])
    const { speedup, gain } = sum ?? {}
    const width = (effect = speedup) => Math.log((effect?.bounds?.upper ?? 0) / (effect?.bounds?.lower ?? 1))
    expect(gain?.ratio).toBeCloseTo(1.25, 9)
    expect((width(gain) / width(speedup)) ** 2).toBeCloseTo(2 / 1.5, 9)
  })

  test('is not known where the other was not launched, or has no speedup', async () => {
    const [before, after] = [baseline(0.0801), baseline(0.0799)]
    const unlaunched = await sumOf([before, sumUpTo('b', 0.04), after])
    expect(unlaunched).toMatchObject({
      verdict: 'open',
      gain: null,
      speedup: { ratio: expect.closeTo(2, 3) },
    })
    const short = sumUpTo('a', 0.05, { stepSeconds: Array<number>(10).fill(0.05) })
    expect((await sumOf([before, short, sumUpTo('b', 0.04), after]))?.gain).toBeNull()
  })

  test('is of the sitting that has both, where another has launched it once more by itself', async () => {
    const sum = await sumOf(
      [baseline(), sumUpTo('a', 0.05), sumUpTo('b', 0.04), baseline()],
      [baseline(), sumUpTo('b', 0.02), baseline()],
    )
    expect(sum?.measurement).toMatchObject({ status: 'finished', sitting: 0 })
    expect(sum?.gain?.ratio).toBeCloseTo(1.25, 9)
  })

  test('of two sittings is one of their speedups, and scatters with both of their baselines', async () => {
    const sum = await sumOf(
      [baseline(0.07), sumUpTo('a', 0.04375), baseline(0.07)],
      [baseline(0.0801), sumUpTo('b', 0.04), baseline(0.0799)],
    )
    expect(sum?.gain?.ratio).toBeCloseTo(1.25, 3)
    expect(sum?.verdict).toBe('gain')
  })

  test('is not comparable where that rung is not: longer steps than its process has time for', async () => {
    const sum = await sumOf([baseline(), sumUpTo('a', 80), sumUpTo('b', 0.04), baseline(0.0801)])
    expect(sum?.verdict).toBe('not-comparable')
    expect(sum?.problems).toEqual([expect.stringMatching(/^what it is compared with: clocks: /)])
  })

  test('is not comparable where the sittings are of other machines or versions', async () => {
    const versions = { torch: '2.16.0' }
    const onOther = (told: LaunchSpec): LaunchSpec => ({ ...told, start: { versions } })
    const sum = await sumOf(
      [baseline(), sumUpTo('a', 0.05), baseline()],
      [baseline(0.0801), sumUpTo('b', 0.04), baseline(0.0799)].map(onOther),
    )
    expect(sum?.verdict).toBe('not-comparable')
    expect(sum?.problems).toEqual([expect.stringContaining('same machine: versions differ')])
  })

  test('is not comparable where the trainer was changed between the sittings', async () => {
    const record = await aLadder(rungs, [
      [baseline(), sumUpTo('a', 0.05), baseline()],
      [baseline(0.0801), sumUpTo('b', 0.04), baseline(0.0799)],
    ])
    const launches = record.launches.map((launch) => withCode(launch, String(launch.sitting)))
    const sum = judgeLadder({ ...record, launches }).rungs[1]?.sum
    expect(sum?.verdict).toBe('not-comparable')
    expect(sum?.problems).toEqual([expect.stringContaining("same code: the trainer's sources changed")])
  })
})

function withCode(launch: LadderLaunch, hash: string): LadderLaunch {
  const { outcome } = launch.launched
  if (outcome.status !== 'finished') throw new Error('only a finished launch has a code')
  const code = { before: hash, after: hash }
  return { ...launch, launched: { ...launch.launched, outcome: { ...outcome, code } } }
}

test('held-out loss is compared with that of the baseline launches beside it', async () => {
  const launches = [
    { ...baseline(), valLoss: 0.02 },
    alone(0.04, { valLoss: 0.025 }),
    { ...baseline(), valLoss: 0.024 },
  ]
  const { measurement } = await resultOf(launches)
  expect(measurement).toMatchObject({ lossDelta: expect.closeTo(0.003, 9) })
})
