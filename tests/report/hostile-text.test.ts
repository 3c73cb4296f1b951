// Text from a trainer, a config or a recorded file stays text: it breaks no table, closes no fence, calls nobody.
import { describe, expect, test } from 'vitest'
import type { Result } from '../../src/record/result.ts'
import { renderMarkdown, renderSections } from '../../src/report/markdown.ts'
import { aResult } from '../fixtures/builders.ts'
import { HOSTILE, hostileResult } from '../fixtures/hostile.ts'

const plain = await hostileResult('plain')
const rowsOf = (markdown: string) => markdown.split('\n').filter((line) => line.startsWith('|'))
/** Every section but the one that is a fenced command, in which nothing but its end means anything. */
const sectionsOf = (result: Result) => renderSections(result).filter(({ title }) => title !== 'reproduce')
/** Cell borders of each row of each table; an escaped pipe has no character | any more. */
const bordersOf = (result: Result) =>
  sectionsOf(result)
    .map(({ markdown }) => rowsOf(markdown).map((row) => row.split('|').length))
    .filter((rows) => rows.length > 0)

describe.each(Object.entries(HOSTILE))('%s', (_, text) => {
  test('leaves every table its rows and columns', async () => {
    expect(bordersOf(await hostileResult(text))).toEqual(bordersOf(plain))
  })

  test('leaves every fold its one start and one end, outside of the fence', async () => {
    for (const { markdown } of sectionsOf(await hostileResult(text))) {
      expect(markdown).not.toMatch(/<(?=[a-z!?/])(?!\/?(details|summary)>)/i)
      expect(markdown.split('<details>').length).toBe(markdown.split('</details>').length)
      expect(markdown.split('<details>').length).toBeLessThanOrEqual(2)
    }
  })

  test('calls nobody and links nowhere', async () => {
    for (const { markdown } of sectionsOf(await hostileResult(text))) {
      const withoutRules = markdown.replaceAll(
        /\]\(https:\/\/github\.com\/speedproof\/speedproof\/[\w./#-]*\)/g,
        '',
      )
      expect(withoutRules).not.toMatch(/@octocat|#1\b|repo#2|\]\(|https?:\/\/\w|www\./)
    }
  })

  test('stays inside the fence of the command to reproduce', async () => {
    const section = renderSections(await hostileResult(text)).find(({ title }) => title === 'reproduce')
    const lines = section?.markdown.split('\n') ?? []
    const fence = lines[2]?.replace('sh', '') ?? ''
    expect(fence).toMatch(/^`{3,}$/)
    expect(lines.flatMap((line, index) => (line.startsWith(fence) ? [index] : []))).toEqual([
      2,
      lines.length - 3,
    ])
  })

  test('makes no comment that is much longer than a plain one', async () => {
    expect(renderMarkdown(await hostileResult(text)).length).toBeLessThan(61_000)
  })
})

test('the name of an experiment cannot be hostile', async () => {
  const { experiment } = await aResult()
  expect(experiment.name).toMatch(/^[a-z0-9-]+$/)
})
