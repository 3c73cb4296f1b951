// How often a workflow run measured, and whether at one time, stands in the report and in the check.
import { expect, test } from 'vitest'
import { combine } from '../../../src/record/combined.ts'
import { concludedCheck } from '../../../src/report/github/check.ts'
import { renderMarkdown } from '../../../src/report/markdown.ts'
import { renderTerminal } from '../../../src/report/terminal.ts'
import { anExperiment, aResult } from '../../fixtures/builders.ts'

const result = await aResult(anExperiment({ preset: 'release' }))

test.each([
  ['a second attempt is in the title', 2, /passed on this host, in attempt 2 of its workflow run/],
  ['a first one is not', 1, /passed on this host$/m],
  ['nor is one outside of a workflow', null, /passed on this host$/m],
])('%s', (_, attempt, title) => {
  const shown = { ...result, attempt }
  expect(renderMarkdown(shown)).toMatch(title)
  expect(concludedCheck(combine([shown]), null)).toMatchObject({ summary: expect.stringMatching(title) })
  if (attempt === 2) expect(renderTerminal(shown)).toMatch(title)
})

test('the environment has the attempt, where there is one', () => {
  expect(renderMarkdown({ ...result, attempt: 1 })).toMatch(/attempt of the workflow run +\| 1/)
  expect(renderMarkdown({ ...result, attempt: null })).not.toContain('attempt of the workflow run')
})

test('a release that was measured at one time says so', () => {
  const at = (hours: number) => new Date(Date.UTC(2026, 1, 3, hours)).toISOString()
  const shownAt = (hoursOf: (index: number) => number, preset: 'release' | 'nightly' = 'release') =>
    renderMarkdown({
      ...result,
      experiment: { ...result.experiment, preset },
      launches: result.launches.map((launch, index) => ({ ...launch, startedAt: at(hoursOf(index)) })),
    })
  const said = 'All launches are of one session'
  expect(shownAt((index) => index)).toContain(said)
  expect(shownAt((index) => index, 'nightly')).not.toContain(said)
  expect(shownAt((index) => (index < 4 ? index : index + 24))).not.toContain(said)
})
