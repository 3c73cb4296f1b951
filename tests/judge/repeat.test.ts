// What the machine disturbed does not count and is repeated once; what a training did itself stays.
import { describe, expect, test } from 'vitest'
import { assess } from '../../src/assess.ts'
import { sortAttempts, withUnlaunched } from '../../src/judge/repeat.ts'
import type { MachineRecord } from '../../src/measure/machine-record.ts'
import { type Launched, outcomeOf } from '../../src/measure/outcome.ts'
import { repeatOf } from '../../src/plan/plan.ts'
import { aLaunchRecord, anExperiment, aRequest, launchedPlan } from '../fixtures/builders.ts'
import {
  aGpuSample,
  aMachineRecord,
  aPreflight,
  aProcess,
  filledBySteps,
} from '../fixtures/machine/records.ts'

const EXPERIMENT = anExperiment({ design: { blocks: 2, warm_up_launches: 1, seed: 0 } })
const ALL = await launchedPlan(EXPERIMENT)
const WARM_UPS = ['01-warm-up-baseline', '02-warm-up-optimized']
const BLOCK_1 = ['03-block-1-baseline', '04-block-1-optimized']
const BLOCK_2 = ['05-block-2-optimized', '06-block-2-baseline']

const hot = aMachineRecord({
  samples: aMachineRecord().samples.map((sample) => aGpuSample({ ...sample, event_reasons: 0x40 })),
})
const shared = aMachineRecord({ processes: [aProcess(), aProcess({ pid: 77, is_ours: false })] })

/** Watched, all of them; those that are named otherwise than well. */
function watched(different: Readonly<Record<string, MachineRecord>> = {}) {
  const ids = ALL.flatMap(({ outcome: { run } }) => [run.id, repeatOf(run).id])
  const records = new Map(ids.map((id) => [id, [filledBySteps(id, different[id])]]))
  return { preflight: aPreflight(), records }
}

const repeated = ({ launch, outcome }: Launched): Launched => {
  const run = repeatOf(outcome.run)
  return { launch: launch && { ...launch, runId: run.id }, outcome: { ...outcome, run } }
}
const failedAs = (launched: Launched, message: string): Launched => {
  const launch = aLaunchRecord({}, { status: 'exited', exitCode: 1, wallSeconds: 9 })
  const errors = [{ rank: 0, cause: 'error' as const, message, step: null }]
  return {
    launch: { ...launch, errors },
    outcome: outcomeOf(launched.outcome.run, { ...launch, errors }, null),
  }
}
const replaced = (id: string, change: (launched: Launched) => Launched) =>
  ALL.map((one) => (one.outcome.run.id === id ? change(one) : one))
const ids = (launched: readonly Launched[]) => launched.map(({ outcome }) => outcome.run.id)

describe('an undisturbed experiment', () => {
  test('counts as it is', () => {
    const { counting, setAside, due } = sortAttempts(ALL, watched())
    expect(ids(counting)).toEqual([...WARM_UPS, ...BLOCK_1, ...BLOCK_2])
    expect([setAside.size, due]).toEqual([0, []])
  })

  test('counts as it is where nothing can be seen', () => {
    const { counting } = sortAttempts(ALL, { preflight: null, records: new Map() })
    expect(counting).toEqual(ALL)
  })

  test('does not count a repeat that nothing called for', () => {
    const extra = ALL.slice(2, 4).map(repeated)
    const { counting, setAside } = sortAttempts([...ALL, ...extra], watched())
    expect(counting).toEqual(ALL)
    expect([...setAside.values()]).toEqual([
      '03-block-1-baseline-repeat does not count: its first attempt was not disturbed',
      '04-block-1-optimized-repeat does not count: its first attempt was not disturbed',
    ])
  })
})

describe.each([
  ['heat', hot, 'a GPU was slowed down by heat or hardware in 100% of the steady samples'],
  ['a foreign process', shared, 'process 77 computed on its GPUs at the same time'],
])('a block disturbed by %s', (_, record, reason) => {
  const seen = watched({ '04-block-1-optimized': record })
  const upToBlock1 = ALL.slice(0, 4)

  test('is repeated whole, in its own order, before the next', () => {
    const { due, setAside } = sortAttempts(upToBlock1, seen)
    expect(due.map(({ id }) => id)).toEqual(BLOCK_1.map((id) => `${id}-repeat`))
    expect([...setAside.values()]).toEqual(
      Array(2).fill(`block 1 will be launched again: 04-block-1-optimized: ${reason}`),
    )
    const plan = ALL.map(({ outcome }) => outcome.run)
    expect(ids(withUnlaunched(plan, upToBlock1, due, 'stopped'))).toEqual([
      ...WARM_UPS,
      ...BLOCK_1,
      ...BLOCK_1.map((id) => `${id}-repeat`),
      ...BLOCK_2,
    ])
  })

  test('passes nothing before its repeat is there', () => {
    const { verdict } = assess(aRequest({ experiment: EXPERIMENT }), ALL, seen)
    expect(verdict).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('stopped early'),
    })
  })

  test('is not repeated before it is over', () => {
    const half = watched({ '03-block-1-baseline': record })
    expect(sortAttempts(ALL.slice(0, 3), half).due).toEqual([])
    const launch = aLaunchRecord({}, { status: 'cancelled', wallSeconds: 5 })
    const cancelled = upToBlock1.map((one, index) =>
      index === 2 ? { launch, outcome: outcomeOf(one.outcome.run, launch, null) } : one,
    )
    expect(sortAttempts(cancelled, seen).due).toEqual([])
  })

  test('counts by its repeat, and both are in the result', () => {
    const all = [...upToBlock1, ...upToBlock1.slice(2).map(repeated), ...ALL.slice(4)]
    expect(sortAttempts(all, seen).due).toEqual([])
    const result = assess(aRequest({ experiment: EXPERIMENT }), all, seen)
    expect(result.runs.map(({ runId }) => runId)).toEqual([
      ...WARM_UPS,
      ...BLOCK_1.map((id) => `${id}-repeat`),
      ...BLOCK_2,
    ])
    const setAside = result.outcomes.flatMap((one) => (one.setAside ? [[one.run.id, one.setAside]] : []))
    expect(setAside).toMatchObject(BLOCK_1.map((id) => [id, { summary: { steps: 40 } }]))
    expect(result.outcomes).toHaveLength(8)
    expect(result.launches).toHaveLength(8)
    expect(result.verdict.warnings).toEqual([
      `repeats: block 1 was launched again: 04-block-1-optimized: ${reason}`,
    ])
    expect(result.verdict.verdict).not.toBe('invalid')
  })

  test('is invalid when its repeat is disturbed too, and is not repeated again', () => {
    const twice = watched({ '04-block-1-optimized': record, '03-block-1-baseline-repeat': record })
    const all = [...upToBlock1, ...upToBlock1.slice(2).map(repeated), ...ALL.slice(4)]
    expect(sortAttempts(all, twice).due).toEqual([])
    const { verdict } = assess(aRequest({ experiment: EXPERIMENT }), all, twice)
    expect(verdict).toMatchObject({
      verdict: 'invalid',
      reason: expect.stringContaining('03-block-1-baseline-repeat'),
    })
  })
})

test('a warm-up launch may be disturbed: it counts for nothing', () => {
  const seen = watched({ '01-warm-up-baseline': hot })
  expect(sortAttempts(ALL, seen).setAside.size).toBe(0)
  expect(assess(aRequest({ experiment: EXPERIMENT }), ALL, seen).verdict.verdict).not.toBe('invalid')
})

describe('a failed launch', () => {
  const crashed = replaced('04-block-1-optimized', (one) => failedAs(one, 'CUDA out of memory'))

  test('of the training itself is never retried', () => {
    const { counting, due } = sortAttempts(crashed, watched())
    expect(counting).toEqual(crashed)
    expect(due).toEqual([])
    const unended = watched({ '04-block-1-optimized': aMachineRecord({ end: null }) })
    expect(sortAttempts(crashed, unended).due).toEqual([])
  })

  test('stays failed when only the other run of its block was disturbed', () => {
    expect(sortAttempts(crashed, watched({ '03-block-1-baseline': hot })).counting).toEqual(crashed)
  })

  test('stays failed when the other run of its block failed through the machine', () => {
    const both = crashed.map((one) =>
      one.outcome.run.id === '03-block-1-baseline' ? failedAs(one, 'NCCL error') : one,
    )
    expect(sortAttempts(both, watched({ '03-block-1-baseline': shared })).due).toEqual([])
  })

  test.each([
    ['a process beside it', shared],
    [
      'a lost GPU',
      aMachineRecord({
        end: { event: 'end', seconds: 10, fingerprint: null, processes_left: [], is_complete: true },
      }),
    ],
  ])('with %s is retried once, as its block', (_, record) => {
    const { setAside, due } = sortAttempts(crashed, watched({ '04-block-1-optimized': record }))
    const both = watched({ '03-block-1-baseline': hot, '04-block-1-optimized': record })
    expect(sortAttempts(crashed, both).due).toEqual(due)
    expect(ids([...setAside.keys()])).toEqual(BLOCK_1)
    expect(due.map(({ id }) => id)).toEqual(BLOCK_1.map((id) => `${id}-repeat`))
  })

  test('that never started is retried, and a warm-up launch by itself', () => {
    const launch = aLaunchRecord({}, { status: 'not-started', message: 'no process left' })
    const unstarted = replaced('02-warm-up-optimized', ({ outcome: { run } }) => ({
      launch,
      outcome: outcomeOf(run, launch, null),
    }))
    const { due, setAside } = sortAttempts(unstarted, watched())
    expect(due.map(({ id }) => id)).toEqual(['02-warm-up-optimized-repeat'])
    expect([...setAside.values()]).toEqual([
      'the warm-up launch 02-warm-up-optimized will be launched again: 02-warm-up-optimized: it could not be started: no process left',
    ])
  })

  test('that is a warm-up launch is not retried again', () => {
    const failed = replaced('02-warm-up-optimized', (one) => failedAs(one, 'NCCL error'))
    const again = failed.slice(1, 2).map(repeated)
    const seen = watched({ '02-warm-up-optimized': shared, '02-warm-up-optimized-repeat': shared })
    const { counting, due } = sortAttempts([...failed.slice(0, 2), ...again], seen)
    expect(ids(counting)).toEqual(['01-warm-up-baseline', '02-warm-up-optimized-repeat'])
    expect(due).toEqual([])
  })

  test('uses up no repeat of a block that was only disturbed, nor is its retry used up by one', () => {
    const retried = sortAttempts(
      crashed,
      watched({ '04-block-1-optimized': shared, '05-block-2-optimized': hot }),
    )
    expect(retried.due.map(({ block }) => block)).toEqual([1, 1, 2, 2])
    const later = replaced('06-block-2-baseline', (one) => failedAs(one, 'NCCL error'))
    const seen = watched({ '04-block-1-optimized': hot, '06-block-2-baseline': shared })
    expect(sortAttempts(later, seen).due.map(({ block }) => block)).toEqual([1, 1, 2, 2])
  })

  test('is retried once in an experiment: the second stays, and says why', () => {
    const twice = crashed.map((one) =>
      one.outcome.run.id === '06-block-2-baseline' ? failedAs(one, 'NCCL error') : one,
    )
    const seen = watched({ '04-block-1-optimized': shared, '06-block-2-baseline': shared })
    const { due, notRetried } = sortAttempts(twice, seen)
    expect(due.map(({ block }) => block)).toEqual([1, 1])
    expect(ids([...notRetried.keys()])).toEqual(['06-block-2-baseline'])
    const { verdict } = assess(aRequest({ experiment: EXPERIMENT }), twice, seen)
    expect(verdict.verdict).toBe('failed')
    expect(verdict.warnings).toContainEqual(
      expect.stringMatching(/^repeats: 06-block-2-baseline: process 77 .*it counts, .*one failed launch$/),
    )
  })
})
