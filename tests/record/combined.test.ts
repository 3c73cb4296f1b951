// Several experiments have one verdict: the worst.
import { expect, it } from 'vitest'
import { canGoOn, combine } from '../../src/record/combined.ts'
import type { Result } from '../../src/record/result.ts'
import { aResult, aVerdict } from '../fixtures/builders.ts'

it.each([
  [['passed', 'passed'], 'passed'],
  [['passed', 'inconclusive'], 'inconclusive'],
  [['invalid', 'inconclusive'], 'invalid'],
  [['passed', 'failed', 'invalid'], 'failed'],
] as const)('%j are %s', async (verdicts, worst) => {
  const results = await Promise.all(verdicts.map((verdict, index) => aVerdict(`e${index}`, verdict)))
  expect(combine(results).verdict).toBe(worst)
})

it('says which decided, and why', async () => {
  const combined = combine([await aVerdict('faster', 'passed'), await aVerdict('not-slower', 'failed')])
  expect(combined.name).toBe('faster+not-slower')
  expect(combined.reason).toBe('faster passed; not-slower failed: why not-slower')
})

it('can go on where a launch was cut off, and none failed that counts', async () => {
  const result = await aResult()
  const withLast = (changes: object) => {
    const [last] = result.outcomes.slice(-1)
    if (!last) throw new Error('no launch')
    return { ...result, outcomes: [...result.outcomes.slice(0, -1), { ...last, ...changes }] }
  }
  const cancelled = withLast({ status: 'cancelled' })
  const failed = withLast({ status: 'failed', reason: 'exit-code' })
  const retried = withLast({ status: 'failed', setAside: { reason: 'disturbed', summary: null } })
  const canGo = (...results: Result[]) => canGoOn(combine(results))
  expect(canGo(result)).toBe(false)
  expect(canGo(result, cancelled)).toBe(true)
  expect(canGo(withLast({ status: 'not-run', reason: 'stopped' }))).toBe(true)
  expect(canGo(withLast({ status: 'not-run', reason: 'decided' }))).toBe(false)
  expect(canGo(failed, cancelled)).toBe(false)
  expect(canGo(retried, cancelled)).toBe(true)
})

it('of one experiment is the verdict of that one', async () => {
  const combined = combine([await aVerdict('faster', 'inconclusive')])
  expect(combined).toMatchObject({ name: 'faster', verdict: 'inconclusive', reason: 'why faster' })
})
