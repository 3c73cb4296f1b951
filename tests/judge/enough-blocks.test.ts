// An experiment that can only end without a verdict is refused before anything is run.
import { expect, test } from 'vitest'
import type { Experiment } from '../../src/config/experiment.ts'
import { requireEnoughBlocks } from '../../src/judge/enough-blocks.ts'
import { anExperiment } from '../fixtures/builders.ts'
import { refusal } from '../fixtures/refusal.ts'

type Gate = Partial<Experiment['gates'][string]>

function withBlocks(blocks: number | number[], speedup: Gate = {}, loss: Gate = {}): Experiment {
  const defaults = { severity: 'required', evidence: 'interval' } as const
  return anExperiment({
    design: { blocks, warm_up_launches: 0, seed: 0 },
    gates: {
      speedup: { at_least: 3, ...defaults, ...speedup },
      loss_delta: { below: 0.001, ...defaults, ...loss },
      peak_memory_gb: { below: 50, ...defaults },
    },
  })
}

test('the refusal names each gate, and how many blocks it takes', () => {
  expect(refusal(() => requireEnoughBlocks(withBlocks(1)))).toMatchInlineSnapshot(
    `"design.blocks: got 1, too few for the intervals of the required gates (at least speedup 2, loss_delta 3). Raise it, or accept an estimate with evidence: point"`,
  )
  expect(refusal(() => requireEnoughBlocks(withBlocks([1, 2])))).toContain('(at least loss_delta 3)')
})

test('the last look counts', () => {
  expect(() => requireEnoughBlocks(withBlocks([1, 3]))).not.toThrow()
})

test.each<[string, Gate]>([
  ['accept an estimate', { evidence: 'point' }],
  ['are information', { severity: 'info' }],
])('gates that %s need no interval', (_, gate) => {
  expect(() => requireEnoughBlocks(withBlocks(1, gate, gate))).not.toThrow()
})
