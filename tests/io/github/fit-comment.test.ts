// What a comment keeps when there is too much for it.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CommentSection, fitComment } from '../../../src/report/github/comment.ts'

const table = (rows: number) => ['| gate |', '| --- |', ...Array(rows).fill('| speedup |')].join('\n')

function sections(changes: Partial<Record<CommentSection['kind'], string>> = {}): CommentSection[] {
  const texts = {
    verdict: 'passed',
    rows: table(3),
    chart: 'chart',
    details: 'seeds',
    logs: 'log',
    link: '[run](u)',
  }
  const all = { ...texts, ...changes }
  return [
    { kind: 'verdict', title: 'verdict', markdown: all.verdict },
    { kind: 'rows', title: 'gates', markdown: all.rows },
    { kind: 'chart', title: 'chart', markdown: all.chart },
    { kind: 'details', title: 'environment', markdown: all.details },
    { kind: 'logs', title: 'log of run 3', markdown: all.logs },
    { kind: 'link', title: 'link', markdown: all.link },
  ]
}

describe('a comment', () => {
  it('has all sections in their order when they fit', () => {
    expect(fitComment(sections({ rows: 'rows' }))).toMatchInlineSnapshot(`
      "passed

      rows

      chart

      seeds

      log

      [run](u)"
    `)
  })

  it('gives up logs before details, and says so', () => {
    expect(fitComment(sections({ rows: 'rows', logs: 'x'.repeat(70_000) }))).toMatchInlineSnapshot(`
      "passed

      rows

      chart

      seeds

      [run](u)

      > Left out to fit GitHub's comment limit: log of run 3. The job summary and the artifact have all."
    `)
  })

  it('keeps the rows that fit, whole', () => {
    expect(fitComment(sections({ rows: table(20) }), 250)).toMatchInlineSnapshot(`
      "passed

      | gate |
      | --- |
      | speedup |
      | speedup |
      | speedup |
      | speedup |
      | speedup |
      | speedup |

      [run](u)

      > Left out to fit GitHub's comment limit: rows of gates, chart, environment, log of run 3. The job summary and the artifact have all."
    `)
  })

  it('cuts a verdict that is too long by itself, and keeps the link', () => {
    const text = fitComment(sections({ verdict: '🌈'.repeat(40_000) }))
    expect(text.length).toBeLessThanOrEqual(60_000)
    expect(text).toContain('[run](u)')
    expect(text.isWellFormed()).toBe(true)
  })

  it('never exceeds its budget, and keeps verdict and link where they fit', () => {
    const text = fc.string({ maxLength: 400, unit: 'binary' })
    const rows = fc.nat(60).map(table)
    const parts = fc.record({ rows, chart: text, details: text, logs: text })
    fc.assert(
      fc.property(parts, fc.integer({ min: 250, max: 1500 }), (given, budget) => {
        const fitted = fitComment(sections(given), budget)
        expect(fitted.length).toBeLessThanOrEqual(budget)
        expect(fitted).toMatch(/^passed\n/)
        expect(fitted).toContain('[run](u)')
      }),
    )
  })
})
