// A regression experiment is one training at two revisions, and passes when it is proven to be at most 2% slower.
import { describe, expect, it } from 'vitest'
import { gatesOf } from '../../src/config/experiment.ts'
import { parseOverrides } from '../../src/config/overrides/overrides.ts'
import { parseExperiment } from '../../src/config/parse-experiment.ts'
import { pinnedPackages, sourceDifferences } from '../../src/config/revisions/sources.ts'
import { differencesOutside } from '../../src/config/same-work/same-work.ts'
import { aSource } from '../fixtures/builders.ts'
import { refusal } from '../fixtures/refusal.ts'

const file = (changes: { baseline?: string; optimized?: string; more?: string } = {}) => `
name: x
kind: regression
trainer: { script: train.py }
variants:
  baseline: { config: a.yaml, ${changes.baseline ?? 'revision: merge-base'} }
  optimized: { config: a.yaml, ${changes.optimized ?? ''} }
${changes.more ?? ''}
`

const parsed = (changes: Parameters<typeof file>[0] = {}) => parseExperiment(file(changes), 'x.yaml')

describe('its gates', () => {
  const limits = (changes: Parameters<typeof file>[0]) =>
    gatesOf(parsed(changes)).map(({ name, limit, severity }) => `${name} ${limit} ${severity}`)

  it('are those of same work, but for a speedup of 0.98', () => {
    expect(limits({})).toEqual([
      'speedup 0.98 required',
      'loss_delta 0.001 required',
      'loss_ratio 1.03 required',
      'nrmse_ratio 1.03 required',
      'peak_memory_gb 50 warn',
    ])
  })

  it('stay so with a preset, which decides over the evidence alone', () => {
    expect(limits({ more: 'preset: pull-request' })[0]).toBe('speedup 0.98 required')
    expect(limits({ more: 'preset: smoke' })[0]).toBe('speedup 0.98 info')
  })

  it('can be named by the file', () => {
    expect(limits({ more: 'gates: { speedup: { at_least: 0.95 } }' })).toEqual(['speedup 0.95 required'])
  })
})

describe('is refused', () => {
  it.each([
    [
      'with another config',
      { optimized: 'set: { speed.compile: true }' },
      'x.yaml: variants: set.speed.compile differs (baseline null, optimized true)',
    ],
    [
      'at one revision',
      { baseline: '' },
      'both revisions are the working tree, but a regression experiment compares two. Give the baseline revision: merge-base',
    ],
    ['with a ref that is an option', { baseline: 'revision: --all' }, 'expected a branch, tag or commit'],
    ['with a lock elsewhere', { more: 'launch: { requirements: ../a.lock }' }, 'launch.requirements: got'],
    [
      'with data elsewhere',
      { more: 'launch: { shared_paths: [/data] }' },
      'launch.shared_paths.0: got "/data"',
    ],
  ])('%s', (_, changes, message) => {
    expect(refusal(() => parsed(changes))).toContain(message)
  })

  it('with a script that is the same for every revision', () => {
    const text = file().replace('train.py', '/opt/train.py')
    expect(refusal(() => parseExperiment(text, 'x.yaml'))).toMatchInlineSnapshot(
      `"x.yaml: trainer.script: got "/opt/train.py", expected a path inside the working directory, since each revision has its own"`,
    )
  })

  it('with a base that is an option', () => {
    expect(refusal(() => parseOverrides({ base: '--all' }))).toContain('base: got "--all", expected a branch')
  })
})

describe('what differs', () => {
  it('may be a key that one revision does not know, and no value of a key that both know', () => {
    const before = { model: { width: 64 }, speed: { compile: false } }
    const after = { model: { width: 64, bias: true }, loss: { boundary: 1 }, speed: { compile: true } }
    expect(differencesOutside('regression', before, after)).toEqual([])
    const wider = { ...after, model: { width: 128 } }
    expect(differencesOutside('regression', before, wider).map(({ key }) => key)).toEqual(['model.width'])
  })

  it('lists revisions, locks and packages', () => {
    const lock = (hash: string, torch: string) => ({
      sha256: hash.repeat(64),
      packages: { numpy: '2.4.1', torch },
    })
    const baseline = aSource({ ref: 'merge-base', revision: 'b'.repeat(40), lock: lock('1', '2.14.0') })
    const optimized = aSource({ revision: `${'c'.repeat(40)}-dirty`, lock: lock('2', '2.15.0') })
    expect(sourceDifferences({ baseline, optimized })).toEqual([
      {
        key: 'revision',
        baseline: `${'b'.repeat(40)} (merge-base)`,
        optimized: `${'c'.repeat(40)} with uncommitted changes`,
      },
      { key: 'requirements SHA-256', baseline: '1'.repeat(64), optimized: '2'.repeat(64) },
      { key: 'package.torch', baseline: '2.14.0', optimized: '2.15.0' },
    ])
  })

  it('is nothing between two variants of one working tree', () => {
    expect(sourceDifferences({ baseline: aSource(), optimized: aSource() })).toEqual([])
  })
})

it('reads the pins of a lock, however they are written', () => {
  const lock = `
# made by a compiler
numpy==2.4.1 \\
    --hash=sha256:00
    # via torch==1.0
Ruamel.Yaml[jinja2]==0.18.6 ; python_version < "3.13"
./local.whl
typing_extensions==4.15.0
`
  expect(pinnedPackages(lock)).toEqual({
    numpy: '2.4.1',
    'ruamel-yaml': '0.18.6',
    'typing-extensions': '4.15.0',
  })
})
