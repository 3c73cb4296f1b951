// Several experiments are one report, under the verdict over all.
import { expect, it } from 'vitest'
import { wholeOf } from '../../src/record/whole.ts'
import { renderMarkdown } from '../../src/report/markdown.ts'
import { renderWholeMarkdown, renderWholeTerminal, wholeOutputs } from '../../src/report/whole.ts'
import { aVerdict } from '../fixtures/builders.ts'

it('says which decided, and why', async () => {
  const whole = wholeOf([await aVerdict('faster', 'passed'), await aVerdict('not-slower', 'failed')])
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

it('of one experiment is the report of that one', async () => {
  const result = await aVerdict('faster', 'inconclusive')
  expect(renderWholeMarkdown(wholeOf([result]))).toBe(renderMarkdown(result))
})
