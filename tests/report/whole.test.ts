// Several experiments are one report with one verdict: the worst.
import { expect, it } from 'vitest'
import type { Result } from '../../src/record/result.ts'
import { renderMarkdown } from '../../src/report/markdown.ts'
import {
  canGoOn,
  renderWholeMarkdown,
  renderWholeTerminal,
  wholeOf,
  wholeOutputs,
} from '../../src/report/whole.ts'
import { anExperiment, aResult } from '../fixtures/builders.ts'

async function aVerdict(name: string, verdict: Result['verdict']['verdict']): Promise<Result> {
  const result = await aResult(anExperiment({ name }))
  return { ...result, verdict: { ...result.verdict, verdict, reason: `why ${name}` } }
}

it.each([
  [['passed', 'passed'], 'passed'],
  [['passed', 'inconclusive'], 'inconclusive'],
  [['invalid', 'inconclusive'], 'invalid'],
  [['passed', 'failed', 'invalid'], 'failed'],
] as const)('%j are %s', async (verdicts, worst) => {
  const results = await Promise.all(verdicts.map((verdict, index) => aVerdict(`e${index}`, verdict)))
  expect(wholeOf(results).verdict).toBe(worst)
})

it('says which decided, and why', async () => {
  const whole = wholeOf([await aVerdict('faster', 'passed'), await aVerdict('not-slower', 'failed')])
  expect(whole.name).toBe('faster+not-slower')
  expect(whole.reason).toBe('faster passed; not-slower failed: why not-slower')
  expect(renderWholeTerminal(whole).split('\n').at(-1)).toBe(
    '❌ 2 experiments failed: faster passed; not-slower failed: why not-slower',
  )
  expect(wholeOutputs(whole)).toMatchObject({ verdict: 'failed', reason: whole.reason })
})

it('has a table for each question, under the verdict over all', async () => {
  const whole = wholeOf([await aVerdict('faster', 'passed'), await aVerdict('not-slower', 'failed')])
  const markdown = renderWholeMarkdown(whole)
  expect(markdown.match(/^## .*$/gm)).toEqual([
    '## ❌ Speedproof: 2 experiments failed',
    '## ✅ Speedproof: faster passed',
    '## ❌ Speedproof: not-slower failed',
  ])
  expect(markdown.match(/^\| gate/gm)).toHaveLength(2)
})

it('can go on where a launch was cut off, and none failed that counts', async () => {
  const result = await aResult()
  const withLast = (changes: object, setAside: Result['setAside'] = []) => {
    const [last] = result.outcomes.slice(-1)
    if (!last) throw new Error('no launch')
    return { ...result, setAside, outcomes: [...result.outcomes.slice(0, -1), { ...last, ...changes }] }
  }
  const cancelled = withLast({ status: 'cancelled' })
  const failed = withLast({ status: 'failed', reason: 'exit-code' })
  const runId = failed.outcomes.at(-1)?.run.id ?? ''
  const retried = withLast({ status: 'failed' }, [{ runId, reason: 'disturbed', summary: null }])
  const canGo = (...results: Result[]) => canGoOn(wholeOf(results))
  expect(canGo(result)).toBe(false)
  expect(canGo(result, cancelled)).toBe(true)
  expect(canGo(withLast({ status: 'not-run', reason: 'stopped' }))).toBe(true)
  expect(canGo(withLast({ status: 'not-run', reason: 'decided' }))).toBe(false)
  expect(canGo(failed, cancelled)).toBe(false)
  expect(canGo(retried, cancelled)).toBe(true)
})

it('of one experiment is the report of that one', async () => {
  const result = await aVerdict('faster', 'inconclusive')
  expect(renderWholeMarkdown(wholeOf([result]))).toBe(renderMarkdown(result))
  expect(wholeOf([result])).toMatchObject({ name: 'faster', verdict: 'inconclusive', reason: 'why faster' })
})
