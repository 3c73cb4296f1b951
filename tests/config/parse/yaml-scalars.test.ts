// What a value of a config means, as the trainer's own reader has it: tests/trainer/test_yaml.py reads the same table.
import { expect, test } from 'vitest'
import { parseYaml } from '../../../src/config/parse/yaml.ts'
import { refusal } from '../../fixtures/refusal.ts'
import table from '../../fixtures/yaml-scalars.json' with { type: 'json' }

const means = table.means.map(([text, value]) => ({ text, value }))

test.each(means)('$text is $value', ({ text, value }) => {
  expect(parseYaml(`a: ${text}`, 'x.yaml', 'flag')).toEqual({ a: value })
})

test.each(table.refused)('%j is refused', (text) => {
  expect(refusal(() => parseYaml(`a: ${text}`, 'x.yaml', 'flag'))).toContain('x.yaml')
})
