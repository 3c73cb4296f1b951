// Text from a trainer, a config or a recorded file stays text: it breaks no table, closes no fence, calls nobody.
import { describe, expect, test } from 'vitest'
import { assess } from '../../src/assess.ts'
import { outcomeOf } from '../../src/measure/outcome.ts'
import type { Result } from '../../src/record/result.ts'
import { renderMarkdown, renderSections } from '../../src/report/markdown.ts'
import { aLaunchRecord, anExperiment, aRequest, aResult, launchedPlan } from '../fixtures/builders.ts'

const HOSTILE = {
  pipe: 'a | b || c \\| d',
  'line ends': 'a\nb\r\n\n| c |\u2028d',
  mention: 'thanks @octocat, see #1 and owner/repo#2',
  markup: '<script>alert(1)</script><img src=x onerror=y></details><!-- ',
  backticks: '`` ` ``` ```\n```sh',
  link: '[click](https://example.org) ![x](https://example.org/x.png) www.example.org',
  long: 'x'.repeat(10_000),
  controls: '\u001b[31mred\u0000\u202Ereversed',
}

/** Hostile text wherever text comes from outside. */
async function hostileResult(text: string): Promise<Result> {
  const experiment = anExperiment({
    design: { blocks: 2, warm_up_launches: 0, seed: 0 },
    gates: {
      mine: {
        metric: `evaluation.${text}`,
        statistic: 'ratio',
        at_most: 1,
        severity: 'warn',
        evidence: 'interval',
      },
    },
  })
  const launched = await launchedPlan(experiment, () => ({
    start: { device_names: [text, text], versions: { [text]: text }, effective: { [text]: text } },
    evaluation: { metrics: { [`${text}s`]: 1 } },
  }))
  const failed = launched.map((one, index) => {
    if (index !== 3) return one
    const errors = [{ rank: 0, cause: 'error' as const, message: text, step: 1 }]
    const launch = aLaunchRecord({ errors }, { status: 'exited', exitCode: 1, wallSeconds: 1 })
    return { launch, outcome: outcomeOf(one.outcome.run, launch, null) }
  })
  const configs = { baseline: { speed: {} }, optimized: { speed: { [text]: text } } }
  return assess(
    aRequest({ experiment, configs, experimentFile: text, untracked: [text], outDirectory: text }),
    failed,
  )
}

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
