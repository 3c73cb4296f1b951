// The action goes green on a passed verdict alone, and every surface says which verdict it was and why.
import { describe, expect, it } from 'vitest'
import { anExperiment } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { measure, startServices } from '../harness/speedproof.ts'

const INTERVAL_GATES = { speedup: { at_least: 3.0 } }

describe('the step is red', () => {
  it.each([
    ['failed', 'a gate that is missed', {}, { 'min-speedup': '5' }, 'speedup failed'],
    [
      'inconclusive',
      'a single block, which gives no interval',
      { gates: INTERVAL_GATES },
      {},
      'no honest interval',
    ],
    [
      'invalid',
      'unequal work',
      { optimized: { samples_per_step: 8 } },
      {},
      'training samples differ: 320 / 160',
    ],
  ])('and %s by %s', async (verdict, _, changes, inputs, reason) => {
    const folder = await anExperiment(changes)
    await using services = await startServices()
    const { main, post } = await measure(folder, services, { inputs })
    expect(main.outputs).toMatchObject({ verdict, reason: expect.stringContaining(reason) })
    expect([main.exitCode, post?.exitCode]).toEqual([1, 0])
    expect(main.annotations).toEqual([
      {
        level: 'error',
        title: `Speedproof: faulty ${verdict}`,
        message: expect.stringContaining(reason),
      },
    ])
    expect((await readResult(folder)).verdict).toMatchObject({ verdict })
    for (const text of [main.summary, services.github.comments[0]?.body]) {
      expect(text).toContain(`Speedproof: faulty ${verdict}`)
      expect(text).toContain(reason)
    }
  })
})
