// What each rung of a ladder sets, and the order in which it is launched.
import { describe, expect, test } from 'vitest'
import type { Rung } from '../../src/config/ladder.ts'
import { planSitting, rungSettings } from '../../src/plan/ladder.ts'

const aRung = (name: string, difference: Partial<Rung> = {}): Rung => ({
  name,
  set: { [name]: true },
  needs: [],
  replaces: [],
  ...difference,
})

const settingsOf = (...rungs: Rung[]) => rungSettings({ set: {}, baseline_every: 4, rungs })

describe('a rung', () => {
  test('stands alone by itself, and in the sum with all before it', () => {
    const [, second] = settingsOf(aRung('a'), aRung('b'))
    expect(second).toMatchObject({ alone: { b: true }, needs: null, sum: { a: true, b: true } })
  })

  test('alone has what it needs, and what that needs', () => {
    const [, , , last] = settingsOf(
      aRung('a'),
      aRung('b', { needs: ['a'] }),
      aRung('c'),
      aRung('d', { needs: ['b'] }),
    )
    expect(last).toMatchObject({ alone: { a: true, b: true, d: true }, needs: { a: true, b: true } })
  })

  test('wins over what it needs and over what stands before it', () => {
    const rungs = [aRung('a', { set: { k: 1 } }), aRung('b', { set: { k: 2 }, needs: ['a'] })]
    expect(settingsOf(...rungs)[1]).toMatchObject({ alone: { k: 2 }, needs: { k: 1 }, sum: { k: 2 } })
  })

  test('that was replaced is in no later sum', () => {
    const sums = settingsOf(aRung('a'), aRung('b', { replaces: ['a'] }), aRung('c')).map(({ sum }) => sum)
    expect(sums).toEqual([{ a: true }, { b: true }, { b: true, c: true }])
  })
})

describe('a sitting', () => {
  const order = (due: readonly string[], baselineEvery: number) => {
    const [baseline, ...others] = ['baseline', ...due].map((title) => ({ title }))
    if (baseline === undefined) return []
    return planSitting({ baseline, due: others, baselineEvery, sitting: 1, seed: 5 }).map(({ run }) => run)
  }

  test('has the baseline first, after every so many others, and last', () => {
    expect(order(['a alone', 'b', 'c'], 2).map(({ id }) => id)).toEqual([
      'sitting-2-001-baseline',
      'sitting-2-002-a-alone',
      'sitting-2-003-b',
      'sitting-2-004-baseline',
      'sitting-2-005-c',
      'sitting-2-006-baseline',
    ])
  })

  test('has one seed and one block for all', () => {
    expect(order(['a'], 4)[1]).toEqual({
      id: 'sitting-2-002-a',
      purpose: 'measured',
      variant: 'optimized',
      block: 2,
      seed: 5,
      repeats: null,
    })
  })

  test('in which nothing is due launches nothing', () => {
    expect(order([], 4)).toEqual([])
  })
})
