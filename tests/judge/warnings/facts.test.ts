// One line says which facts the training did not report itself; a plain trainer of the contract gets none.
import { expect, test } from 'vitest'
import type { Held } from '../../../src/read/events.ts'
import { renderMarkdown } from '../../../src/report/markdown.ts'
import { anExperiment, aResult, type MetricsDifference } from '../../fixtures/builders.ts'

async function shown(difference: MetricsDifference) {
  const result = await aResult(anExperiment(), () => difference)
  return { warnings: result.verdict.warnings, report: renderMarkdown(result), result }
}

test('all that is reported needs no line, and so does a training without a GPU', async () => {
  const { warnings, report } = await shown({})
  expect(warnings).toEqual([])
  expect(report).toContain('Where the numbers come from: 10 of 11 facts reported')
  expect(report).toMatch(/\| peak memory +\| unknown +\| unknown/)
})

test('a verdict that rests on declared and derived facts says so once, among what must be known', async () => {
  const { warnings, report, result } = await shown({
    start: { facts: { samples: 'declared', step_seconds: 'derived' } },
  })
  expect(result.verdict.verdict).toBe('passed')
  expect(warnings).toEqual([
    'the gates rest on what the training did not report itself: step seconds (derived), samples (declared)',
  ])
  const [mustKnow = ''] = report.split('<details>')
  expect(mustKnow).toContain('step seconds (derived), samples (declared)')
})

test('settings that nobody read back are named as that', async () => {
  const { warnings, report, result } = await shown({ start: { effective: undefined } })
  expect(warnings).toEqual(['not reported by the training: effective settings (not read back)'])
  expect(report).toMatch(/\| effective settings +\| not read back +\| not read back/)
  expect(result.facts.baseline?.effective_settings).toBe('unknown')
})

test('step seconds that include evaluations say so', async () => {
  const holds: Record<number, Held> = { 20: 'evaluation' }
  const result = await aResult(anExperiment(), ({ variant }) => (variant === 'baseline' ? { holds } : {}))
  expect(result.verdict.warnings).toEqual([expect.stringContaining('include evaluation')])
})

test('step seconds without them need no line', async () => {
  expect((await shown({ holds: { 20: 'evaluation' } })).warnings).toEqual([])
})
