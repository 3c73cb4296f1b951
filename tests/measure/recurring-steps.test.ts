// Long steps that come back regularly are those of an epoch or an accumulation; others are not.
import { expect, test } from 'vitest'
import { recurringEvery } from '../../src/measure/recurring-steps.ts'

const series = (isLong: (step: number) => boolean, steps = 200) =>
  Array.from({ length: steps }, (_, step) => (isLong(step) ? 10 : 1 + 0.01 * (step % 3)))

test.each([
  ['the first five steps of each epoch of 50', (step: number) => step % 50 < 5, 50],
  ['every fourth step', (step: number) => step % 4 === 3, 4],
  ['an epoch of 30, and one stray step', (step: number) => step % 30 === 0 || step === 199, 30],
  ['two long steps alone', (step: number) => step === 40 || step === 90, null],
  ['steps at random', (step: number) => [3, 17, 60, 64, 121, 190].includes(step), null],
  ['no long step', () => false, null],
])('%s', (_, isLong, every) => {
  expect(recurringEvery(series(isLong))).toBe(every)
})
