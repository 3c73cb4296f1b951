// Warm-up launches that are shorter than what is measured.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { anExperiment } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { measure, startServices } from '../harness/speedproof.ts'

it('a warm-up launch has its own settings, and what is measured is whole', async () => {
  const folder = await anExperiment({ design: { warm_up_launches: 1, warm_up_set: { steps: 12 } } })
  await using services = await startServices()
  const { main } = await measure(folder, services)
  expect(main).toMatchObject({ exitCode: 0, outputs: { verdict: 'passed' } })
  const { outcomes } = await readResult(folder)
  const taken = await Promise.all(
    outcomes.map(async ({ run }) => {
      const metrics = await readFile(join(folder, 'out', 'runs', run.id, 'trainer', 'metrics.jsonl'), 'utf8')
      return [run.id, JSON.parse(metrics.trimEnd().split('\n').at(-1) ?? '').attempted_updates]
    }),
  )
  expect(taken).toEqual([
    ['01-warm-up-baseline', 12],
    ['02-warm-up-optimized', 12],
    ['03-block-1-baseline', 20],
    ['04-block-1-optimized', 20],
  ])
  const report = await readFile(join(folder, 'out', 'report.md'), 'utf8')
  expect(report).toContain('Warm-up launches alone have steps: 12.')
})

it('a setting of theirs that cannot be is named before the first launch', async () => {
  const folder = await anExperiment({ design: { warm_up_launches: 1, warm_up_set: { 'steps.most': 12 } } })
  await using services = await startServices()
  const { main } = await measure(folder, services)
  expect(main.exitCode).toBe(1)
  expect(main.lines.join('\n')).toMatch(
    /design\.warm_up_set: variants\.baseline\.set: steps\.most in baseline\.yaml: steps is 20 there, expected/,
  )
})
