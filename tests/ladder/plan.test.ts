// What each rung of a ladder sets, and the order in which it is launched.
import { describe, expect, test } from 'vitest'
import type { Rung } from '../../src/ladder/config.ts'
import { launchId, launchTitle, planSitting, rungSettings } from '../../src/ladder/plan.ts'

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

test('a rung that failed in the sum is in no later one, and what it replaces stays', () => {
  const ladder = {
    set: {},
    baseline_every: 4,
    rungs: [aRung('a'), aRung('b', { replaces: ['a'] }), aRung('c')],
  }
  expect(rungSettings(ladder, new Set(['b'])).map(({ sum, sumBefore }) => ({ sum, sumBefore }))).toEqual([
    { sum: { a: true }, sumBefore: null },
    { sum: { b: true }, sumBefore: 'a' },
    { sum: { a: true, c: true }, sumBefore: 'a' },
  ])
})

describe('a sitting', () => {
  test('has the baseline first, after every so many others, and last', () => {
    expect(planSitting('baseline', ['a', 'b', 'c'], 2)).toEqual([
      'baseline',
      'a',
      'b',
      'baseline',
      'c',
      'baseline',
    ])
  })

  test('has no baseline twice in a row', () => {
    expect(planSitting('baseline', ['a', 'b'], 1)).toEqual(['baseline', 'a', 'baseline', 'b', 'baseline'])
  })

  test('in which nothing is due launches nothing', () => {
    expect(planSitting('baseline', [], 4)).toEqual([])
  })

  test('names its launches in their order', () => {
    expect(launchId(1, 9, 'bf16 alone')).toBe('sitting-2-010-bf16-alone')
    expect(launchTitle('sitting-2-010-bf16-alone')).toBe('bf16-alone')
  })
})
