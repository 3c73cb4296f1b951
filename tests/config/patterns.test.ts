// Patterns come from a file that a pull request may change, and are tried on every line that a training prints.
import { describe, expect, test } from 'vitest'
import { compiled } from '../../src/config/patterns.ts'

describe('a pattern answers on one long line', () => {
  const LINE = 'a'.repeat(2000)

  // The engine of JavaScript takes longer than any test on each of these.
  test.each([
    '(?:a+)+b',
    '(?:a|a)*b',
    `${'[a-z]*'.repeat(5)}1`,
    '(?:a+){12}b',
    '(?:\\w{1,20}){1,20}!',
    '(?:a|aa){40}b',
    '.*.*.*.*b',
  ])('%s', (text) => {
    expect(compiled(text).test(LINE)).toBe(false)
    expect(compiled(text).exec(LINE)).toBeNull()
  })
})

test('its groups are named as in JavaScript or in Python, and one that took no part is left out', () => {
  const pattern = compiled('step (?P<step>\\d+)(?: loss (?<train_loss>\\S+))?')
  expect(pattern.groups).toEqual(['step', 'train_loss'])
  expect(pattern.exec('at step 3 loss 0.5')).toEqual({ step: '3', train_loss: '0.5' })
  expect(pattern.exec('at step 4')).toEqual({ step: '4' })
})
