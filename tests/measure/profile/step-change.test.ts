// What changed inside the step: the kinds add up, and the rows shown explain the change or say how much they leave.
import { describe, expect, it } from 'vitest'
import { type Profile, type ProfileRow, parseProfile } from '../../../src/measure/profile/profile.ts'
import { changeOf, stepChange } from '../../../src/measure/profile/step-change.ts'

function aProfile(operators: readonly ProfileRow[], difference: Partial<Profile> = {}): Profile {
  const step_ms = operators.reduce((sum, { ms }) => sum + ms, 0)
  return {
    ...{ schema_version: 1, problems: [], traces: [], step_ms, kinds: { computation: step_ms } },
    operators: [...operators],
    ...difference,
  }
}

const row = (name: string, ms: number, launches = 1): ProfileRow => ({ name, ms, launches })

describe('stepChange', () => {
  it('names the operator first that became slower by most', () => {
    const change = stepChange({
      baseline: aProfile([row('mm', 10), row('attention', 5, 12), row('norm', 2)]),
      optimized: aProfile([row('mm', 10.5), row('attention', 25, 60), row('norm', 2)]),
    })
    const [first, second] = change?.operators.rows ?? []
    expect(first).toEqual({
      name: 'attention',
      milliseconds: { baseline: 5, optimized: 25 },
      launches: { baseline: 12, optimized: 60 },
    })
    expect(second?.name).toBe('mm')
    expect(change?.operators.share).toBe(1)
  })

  it('has rows of one side only, and the changes of the kinds add up to that of the step', () => {
    const change = stepChange({
      baseline: aProfile([row('eager', 8)], { kinds: { computation: 6, idle: 2 }, step_ms: 8 }),
      optimized: aProfile([row('fused', 3)], { kinds: { computation: 3 }, step_ms: 3 }),
    })
    expect(change?.operators.rows.map((one) => [one.name, changeOf(one)])).toEqual([
      ['eager', -8],
      ['fused', 3],
    ])
    expect(change?.kinds.map(changeOf).reduce((sum, one) => sum + one, 0)).toBe(-5)
  })

  it('shows as many rows as explain 95% of what moved, and says what is left', () => {
    const before = Array.from({ length: 100 }, (_, index) => row(`op-${index}`, 1))
    const equal = stepChange({
      baseline: aProfile(before),
      optimized: aProfile(before.map((one) => ({ ...one, ms: 2 }))),
    })
    expect(equal?.operators).toMatchObject({ share: 0.25, rowsLeft: 75 })
    const uneven = stepChange({
      baseline: aProfile(before),
      optimized: aProfile(before.map((one, index) => ({ ...one, ms: index === 0 ? 1000 : 1.1 }))),
    })
    expect(uneven?.operators.rows).toHaveLength(5)
  })

  it('says nothing where nothing moved, or one side has no step', () => {
    const same = aProfile([row('mm', 10)])
    expect(stepChange({ baseline: same, optimized: same })?.operators).toEqual({
      rows: [],
      share: null,
      rowsLeft: 0,
    })
    const none: Profile = { schema_version: 1, problems: ['failed'], traces: [] }
    expect(stepChange({ baseline: same, optimized: none })).toBeNull()
    expect(stepChange(null)).toBeNull()
  })
})

describe('parseProfile', () => {
  it.each([
    ['', 'cannot be read'],
    ['{"schema_version": 1', 'cannot be read'],
    [`${'['.repeat(100_000)}`, 'cannot be read'],
    ['[]', 'another shape'],
    ['{"schema_version": 2, "problems": []}', 'another shape'],
    ['{"schema_version": 1, "problems": [], "step_ms": -1}', 'another shape'],
    ['{"schema_version": 1, "problems": [], "step_ms": 1e300}', 'another shape'],
    [
      JSON.stringify({
        schema_version: 1,
        problems: [],
        operators: [{ name: 'x'.repeat(3000), ms: 1, launches: 1 }],
      }),
      'another shape',
    ],
  ])('of %.40s is a reason in the report, not an error', (text, reason) => {
    const { problems, step_ms } = parseProfile(text)
    expect(step_ms).toBeUndefined()
    expect(problems.join()).toContain(reason)
  })
})
