// The action goes green on a passed verdict alone, and every surface says which verdict it was and why.
import { describe, expect, it } from 'vitest'
import { anExperiment } from '../fixtures/experiments/an-experiment.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { measure, startServices } from '../harness/speedproof.ts'

/** Of a GPU's allocator, which this trainer does not have. */
const MEMORY_GATE = { peak_memory_gb: { below: 50 } }

describe('the step is red', () => {
  it.each([
    ['failed', 'a gate that is missed', {}, { 'min-speedup': '5' }, 'speedup failed'],
    [
      'inconclusive',
      'a number that nobody measured',
      { gates: MEMORY_GATE },
      {},
      'not every run reported a usable',
    ],
    [
      'invalid',
      'unequal work',
      { optimized: { samples_per_step: 8 } },
      {},
      'training samples differ: 320 (baseline) / 160 (optimized)',
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
