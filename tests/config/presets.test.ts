import { expect, test } from 'vitest'
import { parseOverrides } from '../../src/config/overrides/overrides.ts'
import { parseExperiment } from '../../src/config/parse-experiment.ts'
import { PRESET_NAMES } from '../../src/config/presets.ts'
import { looksOf } from '../../src/plan/looks.ts'
import { refusal } from '../fixtures/refusal.ts'

const file = (more: string) => `
name: x
kind: same-work
trainer: { module: trainer }
variants: { baseline: { config: a.yaml }, optimized: { config: b.yaml } }
${more}
`

test('every preset is a valid experiment', () => {
  for (const preset of PRESET_NAMES) {
    expect(parseExperiment(file(`preset: ${preset}`), 'x.yaml')).toMatchObject({ preset })
  }
})

test('smoke requires no gate, the others require all four', () => {
  const required = (preset: string) =>
    Object.values(parseExperiment(file(`preset: ${preset}`), 'x.yaml').gates).filter(
      ({ severity }) => severity === 'required',
    ).length
  expect(PRESET_NAMES.map(required)).toEqual([0, 4, 4, 4])
})

test('a limit on memory is a warning, unless the file names it', () => {
  const severity = (more: string) => parseExperiment(file(more), 'x.yaml').gates.peak_memory_gb?.severity
  expect(severity('preset: release')).toBe('warn')
  expect(severity('')).toBe('warn')
  expect(severity('preset: smoke')).toBe('info')
  expect(severity('preset: release\ngates: { peak_memory_gb: { below: 50 } }')).toBe('required')
})

test('what the file names itself wins over the preset', () => {
  const experiment = parseExperiment(
    file('preset: release\ndesign: { blocks: 2 }\ngates: { speedup: { at_least: 1.5 } }'),
    'x.yaml',
  )
  const { design, gates } = experiment
  expect([looksOf(experiment), design.warm_up_launches]).toEqual([[2], 2])
  expect(gates.speedup).toMatchObject({ at_least: 1.5 })
  expect(gates.loss_delta).toMatchObject({ below: 0.001, severity: 'required' })
})

test('looks of the file take the place of the blocks of the preset', () => {
  const looks = '[{ blocks: 5, pass_level: 0.05, fail_level: 0.05 }]'
  const experiment = parseExperiment(file(`preset: release\ndesign: { looks: ${looks} }`), 'x.yaml')
  expect(looksOf(experiment)).toEqual([5])
})

test('an input wins over the preset of the file', () => {
  const overrides = parseOverrides({ preset: 'pull-request' })
  expect(looksOf(parseExperiment(file('preset: smoke'), 'x.yaml', overrides))).toEqual([2, 4, 6])
})

test('an unknown preset is refused with the known ones', () => {
  expect(refusal(() => parseOverrides({ preset: 'quick' }))).toMatchInlineSnapshot(
    `"preset: got "quick", expected one of smoke, pull-request, nightly, release"`,
  )
  expect(refusal(() => parseExperiment(file('preset: quick'), 'x.yaml'))).toMatchInlineSnapshot(
    `"x.yaml: preset: got "quick", expected one of smoke, pull-request, nightly, release"`,
  )
})

test('a wrong type is refused by name, with a preset too', () => {
  expect(refusal(() => parseExperiment(file('preset: smoke\ngates: 3'), 'x.yaml'))).toContain(
    'x.yaml: gates: got 3',
  )
})
