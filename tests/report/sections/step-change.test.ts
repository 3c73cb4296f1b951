// The section on the step: the change that matters most in its title, hostile names harmless, problems told.
import { expect, it } from 'vitest'
import type { Profile } from '../../../src/measure/profile/profile.ts'
import { renderMarkdown } from '../../../src/report/markdown.ts'
import { stepChangeSection } from '../../../src/report/sections/step-change.ts'
import { aResult } from '../../fixtures/builders.ts'

const PROFILE: Profile = {
  schema_version: 1,
  problems: [],
  traces: [{ file: 'gpu-trace.json.gz', bytes: 1000, steps: 4 }],
  step_ms: 100,
  kinds: { attention: 60, 'waiting for the host': 40 },
  operators: [{ name: 'aten::scaled_dot_product_attention', ms: 60, launches: 12 }],
  kernels: [{ name: 'flash_fwd', kind: 'attention', ms: 60, launches: 12 }],
  memory: {
    peak_bytes: 4e9,
    categories: { 'kept over the steps': 1e9, 'made in the step': 3e9 },
    largest: [{ bytes: 1e9, where: 'model.py:3 forward' }],
  },
}

async function sectionOf(baseline: Profile, optimized: Profile): Promise<string> {
  return stepChangeSection({ ...(await aResult()), profiles: { baseline, optimized } }).markdown
}

it('is not there without traced launches', async () => {
  expect(stepChangeSection(await aResult()).markdown).toBe('')
  expect(renderMarkdown(await aResult())).not.toContain('inside the step')
})

it('names the largest change, where the time goes and what the trace costs', async () => {
  const slower = { ...PROFILE, step_ms: 130, kinds: { attention: 90, 'waiting for the host': 40 } }
  const operators = [{ name: 'aten::scaled_dot_product_attention', ms: 90, launches: 48 }]
  const text = await sectionOf(PROFILE, { ...slower, operators })
  expect(text).toMatch(/<summary>.*dot&#95;product&#95;attention, 60\.0 ms to 90\.0 ms<\/summary>/)
  expect(text).toMatch(/\| attention +\| 60\.0 ms +\| 90\.0 ms +\| \+30\.0 ms/)
  expect(text).toContain('(tracing: ')
  expect(text).toMatch(/12.* to 48/)
  expect(text).toContain('model.py:3 forward')
})

it('makes names and problems harmless', async () => {
  const name = '</details><script>alert(1)</script> @somebody | x'
  const hostile = { ...PROFILE, problems: [name], operators: [{ name, ms: 5, launches: 1 }] }
  const text = await sectionOf(PROFILE, hostile)
  expect(text).not.toContain('<script>')
  expect(text).not.toContain('@somebody')
  expect(text.match(/<\/details>/g)).toHaveLength(1)
})

it('says why a step could not be traced', async () => {
  const none: Profile = { schema_version: 1, problems: ['the training took 8 steps'], traces: [] }
  const text = await sectionOf(PROFILE, none)
  expect(text).toContain('No step of both variants could be traced.')
  expect(text).toContain('- optimized: the training took 8 steps')
})
