// The note over a comment while something is measured: it comes and goes, the result below it stays.
import { expect, it } from 'vitest'
import { withNote } from '../../../src/report/github/progress-note.ts'

const RESULT = '## ✅ Speedproof: smoke passed\n\n| gate |\n| --- |'

it('stands alone where there is no result yet, and is renewed', () => {
  expect(withNote('', 'launch 1')).toBe('> launch 1')
  expect(withNote(withNote('', 'launch 1'), 'launch 2')).toBe('> launch 2')
})

it('stands over the earlier result, which it does not change however often it is renewed', () => {
  const renewed = withNote(withNote(withNote(RESULT, 'launch 1'), 'launch 2'), 'was ended')
  expect(renewed).toMatch(/^> was ended\n\nBelow is the result of an earlier run\.\n/)
  expect(renewed.endsWith(`\n${RESULT}`)).toBe(true)
  expect(renewed).not.toContain('launch')
})
