// Which trainings a sitting has still to launch, and in which order.
import { describe, expect, test } from 'vitest'
import { ladderRun } from '../../src/ladder/plan.ts'
import type { LadderLaunch } from '../../src/ladder/record.ts'
import { isFailedBaseline, type LaunchSelection, remainingTrainings } from '../../src/ladder/remaining.ts'
import { outcomeOf } from '../../src/measure/outcome.ts'
import { aLaunchRecord } from '../fixtures/builders.ts'
import { aRung } from '../fixtures/ladders.ts'

const ALL: LaunchSelection = { retry: false, rungNames: null }

function aLadder(...hashes: string[]) {
  const trainings = ['baseline', ...hashes].map((hash) => ({ hash, title: hash }))
  return { trainings, rungs: hashes.map((hash) => aRung(hash, { alone: hash, sum: hash })) }
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

const titles = (launches: readonly LadderLaunch[], asked: Partial<LaunchSelection> = {}) =>
  remainingTrainings(aLadder('a', 'b', 'c'), launches, { ...ALL, ...asked }).map(({ title }) => title)

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
    expect(titles([], { rungNames: ['b'] })).toEqual(['b'])
  })

  test('are of a named rung both launches and what they are compared with, and the optimized variant of all', () => {
    const ladder = aLadder('needed', 'a', 'sum before', 'sum of a', 'b', 'optimized')
    const rungs = [
      aRung('a', { from: 'needed', alone: 'a', sumBefore: 'sum before', sum: 'sum of a' }),
      aRung('b', { from: 'baseline', alone: 'b', sumBefore: 'sum of a', sum: null }),
    ]
    const due = (rungNames: readonly string[] | null) =>
      remainingTrainings({ ...ladder, rungs }, [], { retry: false, rungNames }).map(({ hash }) => hash)
    expect(due(['a'])).toEqual(['needed', 'a', 'sum before', 'sum of a'])
    expect(due(['b'])).toEqual(['sum of a', 'b'])
    expect(due(null)).toEqual(['needed', 'a', 'sum before', 'sum of a', 'b', 'optimized'])
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
    expect(isFailedBaseline(last, 'baseline')).toBe(answer)
  })
})
