// JSON that is too deep, too long or too much is refused before it is parsed; any other is what JSON.parse makes of it.
import { expect, it } from 'vitest'
import { LINE_LIMITS, parseBounded } from '../../src/text/bounded-json.ts'

const LIMITS = { depth: 3, characters: 200, textCharacters: 20, nests: 8, values: 30 }

it.each([
  ['lists in lists', '[[[[]]]]', /more than 3 deep/],
  ['mappings in lists', '[{"a":[{}]}]', /more than 3 deep/],
  ['a million brackets that are never closed', '['.repeat(1_000_000), /more than 200 characters/],
  ['many lists', `[${Array(9).fill('[]').join(',')}]`, /more than 8 lists/],
  ['many values', `[${Array(40).fill('0').join(',')}]`, /more than 30 values/],
  ['a long text', JSON.stringify('x'.repeat(21)), /text of more than 20/],
  ['a long key', JSON.stringify({ ['x'.repeat(21)]: 1 }), /text of more than 20/],
  ['a long text that is cut off', `["${'x'.repeat(30)}`, /text of more than 20/],
])('%s are refused', (_, text, reason) => {
  expect(() => parseBounded(text, LIMITS)).toThrow(reason)
})

it.each([
  '"[[[[[[[["',
  '"a \\" [[[[ \\\\"',
  '[1, 2.5, null, true, {"a": "b"}]',
  '{"__proto__": 1, "constructor": {}}',
  ' 1 ',
])('%s is parsed as ever', (text) => {
  expect(parseBounded(text, LIMITS)).toEqual(JSON.parse(text))
})

it('a window of a million steps with all its columns is within the limits of a line', () => {
  const column = Array(1_000_000).fill(1)
  const event = { step_seconds: column, samples: column, train_loss: column, learning_rate: column }
  expect(() => parseBounded(JSON.stringify(event), LINE_LIMITS)).not.toThrow()
})
