// Several experiments are one report, under the verdict over all.
import { expect, it } from 'vitest'
import { combine } from '../../src/record/combined.ts'
import { combinedOutputs, renderCombinedMarkdown, renderCombinedTerminal } from '../../src/report/combined.ts'
import { renderMarkdown } from '../../src/report/markdown.ts'
import { aVerdict } from '../fixtures/builders.ts'

it('says which decided, and why', async () => {
  const combined = combine([await aVerdict('faster', 'passed'), await aVerdict('not-slower', 'failed')])
  expect(renderCombinedTerminal(combined).split('\n').at(-1)).toBe(
    '❌ 1 of 2 experiments failed on this host: faster passed; not-slower failed: why not-slower',
  )
  expect(combinedOutputs(combined)).toMatchObject({ verdict: 'failed', reason: combined.reason })
})

it('has a table for each question, under the verdict over all; what passed is folded', async () => {
  const combined = combine([await aVerdict('faster', 'passed'), await aVerdict('not-slower', 'failed')])
  const markdown = renderCombinedMarkdown(combined)
  expect(markdown.match(/^## .*$/gm)).toEqual([
    '## ❌ Speedproof: 1 of 2 experiments failed on this host',
    '## ✅ Speedproof: faster passed on this host',
    '## ❌ Speedproof: not-slower failed on this host',
  ])
  expect(markdown.match(/^\| gate/gm)).toHaveLength(2)
  expect(markdown).toContain('<summary>✅ faster passed on this host</summary>')
  expect(markdown).not.toContain('<summary>❌')
})

it('of one experiment is the report of that one', async () => {
  const result = await aVerdict('faster', 'inconclusive')
  expect(renderCombinedMarkdown(combine([result]))).toBe(renderMarkdown(result))
})
