// A block whose runs found their compile caches unlike is a warning, and what was not seen is not called alike.
import { expect, test } from 'vitest'
import { checkCompileCaches } from '../../../src/judge/machine/compile-cache.ts'
import type { CompileCache } from '../../../src/measure/outcome.ts'
import { anExperiment, launchedPlan } from '../../fixtures/builders.ts'

const EXPERIMENT = anExperiment({ design: { blocks: 2, warm_up_launches: 1, seed: 0 } })

/** In the order of the plan: two warm-up launches, then B O | O B. */
async function checkOf(...states: (CompileCache | null)[]) {
  const launched = await launchedPlan(EXPERIMENT)
  return checkCompileCaches(
    launched.map(({ launch, outcome }, index) => ({
      launch: launch && { ...launch, compileCache: states[index] ?? null },
      outcome,
    })),
  )
}

test('blocks whose runs are both warm pass, whatever the warm-up launches were', async () => {
  expect(await checkOf('cold', 'cold', 'warm', 'warm', 'warm', 'warm')).toMatchObject({
    status: 'passed',
    detail: 'no block has one cold and one warm run (warm)',
  })
})

test('a variant that compiles nothing is unlike nothing', async () => {
  expect((await checkOf('unused', 'cold', 'unused', 'cold', 'warm', 'unused')).status).toBe('passed')
})

test('one cold and one warm run of a block are a warning with its remedy', async () => {
  expect(await checkOf('cold', 'cold', 'warm', 'cold', 'warm', 'warm')).toEqual({
    name: 'compile caches',
    status: 'warned',
    detail: expect.stringMatching(/block 1 one run compiled .*warm-up launch$/),
  })
})

test('what a launch does not tell is not measured', async () => {
  expect((await checkOf('cold', 'cold', 'warm', null, 'warm', 'warm')).status).toBe('not-measured')
  expect(checkCompileCaches([]).status).toBe('not-measured')
})
