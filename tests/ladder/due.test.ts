// Which trainings a sitting has still to launch, and in which order.
import { describe, expect, test } from 'vitest'
import { dueOf, failedAsBaseline, type Selection, sumsOf } from '../../src/ladder/due.ts'
import type { ResolvedLadder } from '../../src/ladder/io/resolve-ladder.ts'
import { ladderRun } from '../../src/ladder/plan.ts'
import type { LadderLaunch } from '../../src/ladder/record.ts'
import { outcomeOf } from '../../src/measure/outcome.ts'
import { aLaunchRecord, anExperiment } from '../fixtures/builders.ts'
import { aRung } from '../fixtures/ladders.ts'

const ALL: Selection = { retry: false, only: null }

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

const titles = (launches: readonly LadderLaunch[], selection: Partial<Selection> = {}) =>
  dueOf(aLadder('a', 'b', 'c'), launches, { ...ALL, ...selection }).map(({ title }) => title)

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

  test('are no sums above one that fails, by a rung that is known only once the sum before has run', () => {
    const names = Array.from({ length: 8 }, (_, index) => `r${index}`)
    const hashes = names.flatMap((name) => [name, `sum ${name}`])
    const rungs = names.map((name, index) => {
      const sumBefore = index === 0 ? 'baseline' : `sum ${names[index - 1]}`
      return aRung(name, { alone: name, from: 'baseline', sum: `sum ${name}`, sumBefore })
    })
    const due = (launches: readonly LadderLaunch[], selection: Partial<Selection>) =>
      dueOf({ ...aLadder(...hashes, 'optimized'), rungs }, launches, { ...ALL, ...selection }).map(
        ({ hash }) => hash,
      )
    expect(due([], { only: ['r5', 'r7'] })).toEqual(['sum r4', 'r5', 'sum r5', 'sum r6', 'r7', 'sum r7'])
    expect(due([aLaunch('sum r4', 'failed')], { only: ['r5', 'r7'] })).toEqual(['r5', 'r7'])
    expect(sumsOf(rungs, [aLaunch('sum r4', 'failed')], null)).toMatchObject({
      known: rungs.slice(0, 5),
      blocked: rungs.slice(5),
      awaited: 'sum r3',
    })
    expect(sumsOf(rungs, [], null).awaited).toBeNull()
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
