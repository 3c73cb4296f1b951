// The HTML report: one file that loads nothing, in which text from outside stays text, of bounded size.
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Profile } from '../../../src/measure/profile/profile.ts'
import { combine } from '../../../src/record/combined.ts'
import { renderPage } from '../../../src/report/html/page.ts'
import { MAX_PAGE_BYTES } from '../../../src/report/html/page-parts.ts'
import { anExperiment } from '../../fixtures/builders.ts'
import { HOSTILE } from '../../fixtures/hostile.ts'
import { aMachineRecord } from '../../fixtures/machine/records.ts'
import { aHostileReported, aReported, pageOf } from '../../fixtures/reported.ts'

const one = await aReported()
const page = pageOf(one)
const watched = pageOf(await aReported(anExperiment(), undefined, () => aMachineRecord()))

interface Chart {
  readonly id: string
  readonly places: readonly number[]
}

function chartsOf(text: string): readonly Chart[] {
  const [, json = ''] = /<script type="application\/json" id="charts">(.*?)<\/script>/s.exec(text) ?? []
  return JSON.parse(json)
}

/** Names of the elements that a browser would make of it, without what is in its script. */
function elementsOf(text: string): string[] {
  const markup = text.replaceAll(/(<(?:script|style)[^>]*>).*?(<\/(?:script|style)>)/gs, '$1$2')
  return [...markup.matchAll(/<([a-z][a-z0-9]*)/gi)].map(([, name = '']) => name)
}

describe('a page', () => {
  test('allows its own style and script by their hashes, and nothing else', () => {
    const [, policy = ''] = /Content-Security-Policy" content="([^"]*)"/.exec(page) ?? []
    const rules = new Map(policy.split('; ').map((rule) => [rule.split(' ')[0], rule.split(' ').slice(1)]))
    expect(rules.get('default-src')).toEqual(["'none'"])
    for (const [element, rule] of [
      ['script', 'script-src'],
      ['style', 'style-src'],
    ] as const) {
      const sources = [...page.matchAll(new RegExp(`<${element}>(.*?)</${element}>`, 'gs'))]
      const hashes = sources.map(
        ([, source = '']) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`,
      )
      expect(hashes).toHaveLength(1)
      expect(rules.get(rule)).toEqual(hashes)
    }
    expect([...rules.keys()].toSorted()).toEqual([
      'base-uri',
      'default-src',
      'form-action',
      'script-src',
      'style-src',
    ])
  })

  test('has no attribute that a policy without inline style and script would block', () => {
    expect(page.replaceAll(/<script.*?<\/script>/gs, '')).not.toMatch(/<[^>]+\s(?:style|on[a-z]+)=/)
  })

  test('carries the licence of its chart library', () => {
    expect(page).toMatch(/uPlot[\s\S]{0,80}MIT License/)
  })

  test('shows verdict, gates, losses, steps, time, launches, differences, checks and commands', () => {
    const titles = [...page.matchAll(/<h3>([^<]*)<\/h3>/g)].map(([, title]) => title)
    expect(titles).toEqual([
      'Gates',
      'Step time',
      'Where the time goes',
      'Losses',
      'Launches and machine',
      'Differences between the variants',
      'Checks',
      'Environment',
      'Commands that repeat it',
    ])
    expect(page).toContain('class="badge passed"')
    expect(page).toContain('git checkout 0123456789')
  })

  test('has a table for every chart', () => {
    const charts = chartsOf(watched)
    expect(charts.length).toBeGreaterThan(5)
    for (const { id } of charts) {
      const figure = watched.split('<figure').find((part) => part.includes(`data-chart="${id}"`)) ?? ''
      expect(figure).toContain('<table>')
    }
  })

  test('draws what the GPUs did only where they were watched', () => {
    const readings = chartsOf(watched).filter(({ id }) => /clock|power|temperature|memory/.test(id))
    expect(readings).toHaveLength(4)
    expect(chartsOf(page).filter(({ id }) => /clock|power|temperature|memory/.test(id))).toEqual([])
    expect(page).toContain('No GPU was watched')
  })

  test('says what changed inside the step where it was traced, and else nothing of it', () => {
    const profile: Profile = { schema_version: 1, problems: [], traces: [], step_ms: 100, kinds: { a: 100 } }
    const hostile = { ...profile, step_ms: 60, operators: [{ name: HOSTILE.markup, ms: 5, launches: 1 }] }
    const profiles = { baseline: profile, optimized: hostile }
    const traced = pageOf({ ...one, result: { ...one.result, profiles } })
    expect(traced).toContain('<h3>What changed inside the step</h3>')
    expect(traced).toContain('takes 100 ms in the baseline and 60.0 ms')
    expect(elementsOf(traced).filter((name) => name === 'img')).toEqual([])
    expect(page).not.toContain('inside the step')
  })

  test('of several experiments has one verdict over all, and a part for each', () => {
    const several = pageOf(one, one)
    expect(several.match(/<h1>/g)).toHaveLength(1)
    expect(several).toContain('id="experiment-2"')
    expect(several).toContain('href="#experiment-2"')
    const ids = chartsOf(several).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe.each(Object.entries(HOSTILE))('%s', (_, text) => {
  test('makes no element, no attribute and no longer page', async () => {
    const [hostile, plain] = [pageOf(await aHostileReported(text)), pageOf(await aHostileReported('plain'))]
    expect(elementsOf(hostile)).toEqual(elementsOf(plain))
    expect(hostile.replaceAll(/<script.*?<\/script>/gs, '')).not.toMatch(/<[^>]+\son[a-z]+=/)
    expect(hostile.length).toBeLessThan(plain.length + 60_000)
  })
})

test('text that is meant for the script ends no element', async () => {
  const reported = await aHostileReported('</script><script>alert(1)</script>')
  expect(elementsOf(pageOf(reported)).filter((name) => name === 'script')).toHaveLength(2)
})

describe('a page stays small', () => {
  test('with 64 blocks on watched GPUs, each of them a point of its gate', async () => {
    const experiment = anExperiment({ design: { blocks: 64 } })
    const many = pageOf(await aReported(experiment, undefined, () => aMachineRecord()))
    expect(Buffer.byteLength(many)).toBeLessThan(MAX_PAGE_BYTES)
    const [speedup = ''] = many.match(/<svg class="gate.*?<\/svg>/s) ?? []
    expect(speedup.match(/<circle class="block"/g)).toHaveLength(64)
    expect(many).toContain('All launches (130)')
  })

  test('with hundreds of experiments', () => {
    const results = Array.from({ length: 600 }, () => one)
    const many = renderPage(combine(results.map(({ result }) => result)), results)
    expect(Buffer.byteLength(many)).toBeLessThan(MAX_PAGE_BYTES)
    expect(many).toContain('id="experiment-1"')
  })
})
