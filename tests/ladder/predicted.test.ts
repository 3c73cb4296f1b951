// A prediction that begins with a factor can be drawn; any other is only read.
import { expect, test } from 'vitest'
import { predictedRange } from '../../src/ladder/report/predicted.ts'

test.each([
  ['1.10 to 1.25x (plan, phase 1)', { low: 1.1, high: 1.25 }],
  ['1.07x', { low: 1.07, high: 1.07 }],
  ['1 / 1.25 to 1.6x', { low: 0.625, high: 0.8 }],
  ['1.25 to 1.10x', { low: 1.1, high: 1.25 }],
])('%s is %j', (text, range) => {
  expect(predictedRange(text)).toEqual(range)
})

test.each(['memory -20 to -30%', 'no gain', '0x', '1 / 0x', '', 'about 2x', null])(
  '%s is no factor',
  (text) => {
    expect(predictedRange(text)).toBeNull()
  },
)
