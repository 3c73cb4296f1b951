// Texts of inputs and flags become numbers by one strict rule, and change the experiment that they are given for.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyOverrides, flagsOf, parseOverrides } from '../../../src/config/overrides/overrides.ts'
import { parseExperiment } from '../../../src/config/parse-experiment.ts'
import { anExperiment } from '../../fixtures/builders.ts'
import { refusal } from '../../fixtures/refusal.ts'

describe('the text of an override', () => {
  test.each(['', ' ', '\n'])('%j is absent, never 0', (text) => {
    const names = [
      'python',
      'blocks',
      'seed',
      'nproc-per-node',
      'timeout-minutes',
      'min-speedup',
      'max-loss-delta',
    ]
    expect(parseOverrides(Object.fromEntries(names.map((name) => [name, text])))).toEqual({})
    expect(parseOverrides({})).toEqual({})
  })

  test('may have blanks around it', () => {
    expect(parseOverrides({ blocks: ' 3 ', 'min-speedup': '\t3.0\n' })).toEqual({
      blocks: 3,
      'min-speedup': 3,
    })
  })

  test.each([
    ['1e-3', 0.001],
    ['.5', 0.5],
    ['3.', 3],
    ['+2', 2],
  ])('%s is the number %d', (text, value) => {
    expect(parseOverrides({ 'max-loss-delta': text })).toEqual({ 'max-loss-delta': value })
  })

  test('names input, value and remedy when it is no number', () => {
    expect(refusal(() => parseOverrides({ 'min-speedup': 'fast' }))).toMatchInlineSnapshot(
      `"min-speedup: got "fast", expected a decimal number above 0, such as 3.0"`,
    )
    expect(refusal(() => parseOverrides({ blocks: '2.5' }))).toMatchInlineSnapshot(
      `"blocks: got "2.5", expected a whole number from 1 to 64, such as 4"`,
    )
  })

  const noNumbers = [
    '0x10',
    'NaN',
    'Infinity',
    '-1',
    '0',
    '0.0',
    '1,5',
    '1_000',
    '1e999',
    '1e-999',
    '3x',
    '٣',
  ]
  test.each(noNumbers)('%s is no limit', (text) => {
    expect(refusal(() => parseOverrides({ 'min-speedup': text }))).toContain(
      `min-speedup: got ${JSON.stringify(text)}`,
    )
  })

  test.each([...noNumbers.filter((text) => text !== '1,5'), '1e3', '+2', '3.0', '9'.repeat(400)])(
    '%s is no number of blocks',
    (text) => {
      expect(refusal(() => parseOverrides({ blocks: text }))).toContain(`blocks: got ${JSON.stringify(text)}`)
    },
  )

  test('of a seed may be 0, which is no absence', () => {
    expect(parseOverrides({ seed: '0' })).toEqual({ seed: 0 })
    expect(applyOverrides(anExperiment(), { seed: 0 }).design.seed).toBe(0)
    expect(refusal(() => parseOverrides({ seed: '-1' }))).toBe(
      'seed: got "-1", expected a whole number from 0 to 999999999, such as 100',
    )
  })

  test('of blocks may list the looks', () => {
    expect(parseOverrides({ blocks: ' 4, 6,8 ' })).toEqual({ blocks: [4, 6, 8] })
    expect(flagsOf({ blocks: [4, 6, 8] })).toEqual(['--blocks', '4,6,8'])
    expect(refusal(() => parseOverrides({ blocks: '4,,8' }))).toContain('blocks: got ""')
    expect(refusal(() => parseOverrides({ blocks: '8,6' }))).toBe(
      'blocks: got "8,6", expected increasing numbers such as 4,6,8',
    )
  })

  test('gives a positive finite number or a refusal, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.eE+-xn ,') }), (text) => {
        try {
          const { 'min-speedup': minSpeedup } = parseOverrides({ 'min-speedup': text })
          if (text.trim() === '') expect(minSpeedup).toBeUndefined()
          else expect(Number.isFinite(minSpeedup) && Number(minSpeedup) > 0).toBe(true)
        } catch (error) {
          expect(error).toMatchObject({ name: 'ConfigError' })
        }
      }),
    )
  })
})

describe('an override', () => {
  const file = (gates: string) => `
name: x
kind: same-work
trainer: { module: trainer }
variants: { baseline: { config: a.yaml }, optimized: { config: b.yaml } }
gates: ${gates}
`

  test('changes what it names and nothing else', () => {
    const experiment = anExperiment()
    const changed = applyOverrides(experiment, {
      python: 'python3.12',
      blocks: 6,
      'nproc-per-node': 8,
      'timeout-minutes': 90,
    })
    expect(changed).toEqual({
      ...experiment,
      launch: { ...experiment.launch, python: 'python3.12', nproc_per_node: 8, timeout_minutes: 90 },
      design: { ...experiment.design, looks: [{ blocks: 6, pass_level: 0.05, fail_level: 0.05 }] },
    })
  })

  test('of a limit makes its gate required, and keeps the evidence that the file accepts', () => {
    const text = file('{ speedup: { at_least: 3, severity: info, evidence: point } }')
    expect(parseExperiment(text, 'x.yaml', { 'min-speedup': 2, 'max-loss-delta': 0.01 }).gates).toEqual({
      speedup: { at_least: 2, severity: 'required', evidence: 'point' },
      loss_delta: { below: 0.01, severity: 'required', evidence: 'interval' },
    })
  })

  test('of a limit takes the place of one that the file has under another key', () => {
    const text = file('{ loss_delta: { at_most: 0.1 } }')
    expect(parseExperiment(text, 'x.yaml', { 'max-loss-delta': 0.01 }).gates.loss_delta).toEqual({
      below: 0.01,
      severity: 'required',
      evidence: 'interval',
    })
  })

  test('past the range of its setting is refused as an override', () => {
    expect(
      refusal(() => parseExperiment(file('{ speedup: { at_least: 2 } }'), 'x.yaml', { blocks: 100 })),
    ).toMatchInlineSnapshot(
      `"x.yaml, as changed by inputs or flags: design.looks.0.blocks: got 100, expected at most 64"`,
    )
    expect(
      refusal(() =>
        parseExperiment(file('{ speedup: { at_least: 2 } }'), 'x.yaml', { 'timeout-minutes': 20_000 }),
      ),
    ).toMatchInlineSnapshot(
      `"x.yaml, as changed by inputs or flags: launch.timeout_minutes: got 20000, expected at most 10080"`,
    )
  })
})
