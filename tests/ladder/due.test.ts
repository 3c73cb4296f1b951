// Which trainings a sitting has still to launch, and in which order.
import { describe, expect, test } from 'vitest'
import { type Asked, dueOf, failedAsBaseline, parseShard, sumsOf } from '../../src/ladder/due.ts'
import type { ResolvedLadder } from '../../src/ladder/io/resolve-ladder.ts'
import { ladderRun } from '../../src/ladder/plan.ts'
import type { LadderLaunch } from '../../src/ladder/record.ts'
import { outcomeOf } from '../../src/measure/outcome.ts'
import { aLaunchRecord, anExperiment } from '../fixtures/builders.ts'
import { aRung } from '../fixtures/ladders.ts'

const ALL: Asked = { retry: false, part: 'all', only: null, shard: null }

function aLadder(...hashes: string[]): ResolvedLadder {
  const place = { workingDirectory: '/', python: 'python3' }
  const trainings = ['baseline', ...hashes].map((hash) => ({
    ...{ hash, title: hash, otherWork: [], config: {}, place, experiment: anExperiment() },
  }))
  const [baseline] = trainings
  if (baseline === undefined) throw new Error('a ladder has a baseline')
  const rungs = hashes.map((hash) => aRung(hash, { alone: hash, sum: hash }))
  return { baseline, trainings, rungs }
}

function aLaunch(
  training: string,
  end: 'cancelled' | 'failed',
  disturbance: string | null = null,
): LadderLaunch {
  const launch = aLaunchRecord(
    {},
    end === 'failed'
      ? { status: 'exited', exitCode: 1, wallSeconds: 9 }
      : { status: 'cancelled', wallSeconds: 9 },
  )
  const outcome = outcomeOf(ladderRun(training, false, 0, 0), launch, null)
  return { sitting: 0, training, launched: { launch, outcome }, disturbance }
}

const titles = (launches: readonly LadderLaunch[], asked: Partial<Asked> = {}) =>
  dueOf(aLadder('a', 'b', 'c'), launches, { ...ALL, ...asked }).map(({ title }) => title)

describe('due', () => {
  test('is what has no answer, in the order of the rungs', () => {
    expect(titles([])).toEqual(['a', 'b', 'c'])
    expect(titles([aLaunch('b', 'failed')])).toEqual(['a', 'c'])
  })

  test('is what failed, when it is to be launched again', () => {
    expect(titles([aLaunch('b', 'failed')], { retry: true })).toEqual(['a', 'b', 'c'])
  })

  test('is what was cut, after all that was not: one that hangs takes no sitting from the others', () => {
    expect(titles([aLaunch('a', 'cancelled'), aLaunch('a', 'cancelled'), aLaunch('b', 'cancelled')])).toEqual(
      ['c', 'b', 'a'],
    )
  })

  test('are only the rungs that are named', () => {
    expect(titles([], { only: ['b'] })).toEqual(['b'])
  })

  test('are all rungs alone in the shards together, and in each the same whatever is measured', () => {
    const shard = (number: number): Partial<Asked> => ({ part: 'alone', shard: { number, count: 2 } })
    expect(titles([], shard(1))).toEqual(['a', 'c'])
    expect(titles([], shard(2))).toEqual(['b'])
    expect(titles([aLaunch('a', 'failed')], shard(1))).toEqual(['c'])
    expect(titles([aLaunch('a', 'failed')], shard(2))).toEqual(['b'])
    expect(titles([], { ...shard(2), only: ['b', 'c'] })).toEqual(['c'])
  })

  test('are the rungs alone and a stretch of the sums, with the sum before it, in each shard', () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const ladder = aLadder(...names.flatMap((name) => [name, `sum ${name}`]), 'optimized')
    const rungs = names.map((name, index) => {
      const sumBefore = index === 0 ? 'baseline' : `sum ${names[index - 1]}`
      return aRung(name, { alone: name, from: 'baseline', sum: `sum ${name}`, sumBefore })
    })
    const due = (asked: Partial<Asked>) =>
      dueOf({ ...ladder, rungs }, [], { ...ALL, ...asked }).map(({ hash }) => hash)
    const shared = (part: Asked['part']) =>
      [1, 2].map((number) => due({ part, shard: { number, count: 2 } }).toSorted())
    expect(shared('all')).toEqual([
      ['a', 'c', 'e', 'sum a', 'sum b', 'sum c'],
      ['b', 'd', 'optimized', 'sum c', 'sum d', 'sum e'],
    ])
    expect(shared('sum')).toEqual([
      ['sum a', 'sum b', 'sum c'],
      ['optimized', 'sum c', 'sum d', 'sum e'],
    ])
    expect(due({ part: 'sum', only: ['b', 'd'], shard: { number: 2, count: 2 } })).toEqual(['sum c', 'sum d'])
    expect(due({ part: 'sum', shard: { number: 1, count: 9 } })).toEqual(['sum a'])
    expect(due({ part: 'sum', shard: { number: 2, count: 9 } })).toEqual([])
  })

  test('are no sums above one that fails, by a rung that is known only once the sum before has run', () => {
    const names = Array.from({ length: 8 }, (_, index) => `r${index}`)
    const hashes = names.flatMap((name) => [name, `sum ${name}`])
    const rungs = names.map((name, index) => {
      const sumBefore = index === 0 ? 'baseline' : `sum ${names[index - 1]}`
      return aRung(name, { alone: name, from: 'baseline', sum: `sum ${name}`, sumBefore })
    })
    const due = (launches: readonly LadderLaunch[], asked: Partial<Asked>) =>
      dueOf({ ...aLadder(...hashes, 'optimized'), rungs }, launches, { ...ALL, part: 'sum', ...asked }).map(
        ({ hash }) => hash,
      )
    const second: Partial<Asked> = { shard: { number: 2, count: 2 } }
    expect(due([], second)).toEqual(['sum r3', 'sum r4', 'sum r5', 'sum r6', 'sum r7', 'optimized'])
    expect(due([aLaunch('sum r3', 'failed')], second)).toEqual(['optimized'])
    expect(due([aLaunch('sum r4', 'failed')], { only: ['r5', 'r7'] })).toEqual([])
    expect(sumsOf(rungs, [aLaunch('sum r4', 'failed')], { only: null, shard: null })).toMatchObject({
      known: rungs.slice(0, 5),
      blocked: rungs.slice(5),
      awaited: 'sum r3',
    })
    expect(sumsOf(rungs, [], { only: null, shard: null }).awaited).toBeNull()
  })

  test('keep their shard where a failure changes the sums, one of which is then a rung alone', () => {
    const ladder = aLadder('a', 'b', 'c')
    const { baseline, trainings, rungs } = ladder
    const resolvedAgain = {
      baseline,
      trainings: [baseline, ...trainings.slice(2), ...trainings.slice(1, 2)],
      rungs,
    }
    const asked: Asked = { ...ALL, part: 'alone', shard: { number: 1, count: 2 } }
    const hashes = (one: ResolvedLadder) =>
      dueOf(one, [], asked)
        .map(({ hash }) => hash)
        .toSorted()
    expect(hashes(resolvedAgain)).toEqual(hashes(ladder))
  })
})

describe('a shard', () => {
  test('is a part of so many', () => {
    expect(parseShard('2/4')).toEqual({ number: 2, count: 4 })
  })

  test.each(['0/4', '5/4', '4', '1/0', '1/x', '-1/4', '1/4/2', ''])('is not %j', (text) => {
    expect(() => parseShard(text)).toThrow(
      `--shard: got "${text}", expected NUMBER/COUNT such as 1/4, the first of four parts`,
    )
  })
})

describe('a ladder has failed', () => {
  test.each([
    ['when its baseline does', aLaunch('baseline', 'failed'), true],
    ['not when a rung does', aLaunch('a', 'failed'), false],
    ['not by what the machine did to its baseline', aLaunch('baseline', 'failed', 'a GPU was lost'), false],
    ['not by a cancel', aLaunch('baseline', 'cancelled'), false],
    ['not before it has launched anything', undefined, false],
  ])('%s', (_, last, answer) => {
    expect(failedAsBaseline(last, 'baseline')).toBe(answer)
  })
})
