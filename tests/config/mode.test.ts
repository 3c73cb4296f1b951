// `mode: aa` turns any experiment into its baseline against itself.
import { describe, expect, test } from 'vitest'
import { gatesOf } from '../../src/config/experiment.ts'
import { parseOverrides } from '../../src/config/overrides/overrides.ts'
import { parseExperiment } from '../../src/config/parse-experiment.ts'
import { refuseIdentical } from '../../src/config/same-work/same-work.ts'
import { looksOf } from '../../src/plan/looks.ts'
import { anExperiment } from '../fixtures/builders.ts'
import { refusal } from '../fixtures/refusal.ts'

const file = (design: string, more = '') => `
name: x
kind: same-work
trainer: { module: trainer }
variants: { baseline: { config: a.yaml, env: { A: '1' } }, optimized: { config: b.yaml } }
design: { blocks: ${design} }
gates:
  speedup: { at_least: 3 }
  gpu_utilization: { at_least: 0.9, severity: warn }
  loss_delta: { below: 0.001 }
${more}`

const AA = parseOverrides({ mode: 'aa' })

describe('an experiment in mode aa', () => {
  test('runs its baseline twice, requires no gate, and holds a speedup against 1', () => {
    const experiment = parseExperiment(file('4'), 'x.yaml', AA)
    expect(experiment.variants.optimized).toEqual(experiment.variants.baseline)
    expect(gatesOf(experiment).map(({ name, limit, severity }) => [name, limit, severity])).toEqual([
      ['speedup', 1, 'info'],
      ['gpu_utilization', 0.9, 'info'],
      ['loss_delta', 0.001, 'info'],
    ])
  })

  test('is the same from the file as from a flag', () => {
    expect(parseExperiment(file('4', 'mode: aa'), 'x.yaml')).toEqual(parseExperiment(file('4'), 'x.yaml', AA))
  })

  test.each([
    ['4', 6],
    ['[2, 4]', 6],
    ['5', 5],
    ['[4, 6, 8]', 8],
  ])('with blocks %s looks once, at %d blocks', (design, blocks) => {
    expect(looksOf(parseExperiment(file(design), 'x.yaml', AA))).toEqual([blocks])
  })

  test('refuses fewer than 10 runs to whoever asks for them by name', () => {
    const overrides = parseOverrides({ mode: 'aa', blocks: '4' })
    expect(refusal(() => parseExperiment(file('8'), 'x.yaml', overrides))).toBe(
      'blocks: got 4, expected at least 5: mode aa needs 10 runs to measure the noise',
    )
  })

  test('is one of the known modes', () => {
    expect(refusal(() => parseOverrides({ mode: 'ab' }))).toBe('mode: got "ab", expected one of compare, aa')
  })
})

describe('one training under two names', () => {
  const same = { baseline: { batch: 512 }, optimized: { batch: 512 } }

  test('is refused outside of mode aa, with the remedy', () => {
    expect(refusal(() => refuseIdentical(anExperiment(), same))).toContain('use mode aa')
    expect(() => refuseIdentical(anExperiment({ mode: 'aa' }), same)).not.toThrow()
  })

  test('is two when an environment variable differs', () => {
    const { baseline, optimized } = anExperiment().variants
    const variants = { baseline, optimized: { ...optimized, env: { OMP_NUM_THREADS: '1' } } }
    expect(() => refuseIdentical(anExperiment({ variants }), same)).not.toThrow()
  })
})
