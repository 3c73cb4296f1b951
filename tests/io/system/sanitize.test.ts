import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainText, sanitizeLine } from '../../../src/io/system/sanitize.ts'

test.each([
  ['a workflow command', '::error::x', '│ ::error::x'],
  ['a workflow command after blanks', ' \t\u00a0::set-output name=a::b', '│   \u00a0::set-output name=a::b'],
  ['an old command anywhere', 'a ##[group]b', '│ a # #[group]b'],
  ['an old command behind more hashes', '###[error]', '│ ## #[error]'],
  ['an old command held apart by a control character', '#\u0000#\u001b[0m[error]', '│ # #[error]'],
  ['an old command held apart by an invisible mark', '#\u200b#\u2060[error]', '│ # #[error]'],
  ['colours', '\u001b[1;31mred\u001b[0m', '│ red'],
  ['a link', '\u001b]8;;https://example.com\u0007text\u001b]8;;\u0007', '│ text'],
  ['cursor movement', 'a\u001b[2K\u001b[1Gb', '│ ab'],
  ['an 8-bit control sequence', 'a\u009b31mb', '│ ab'],
  ['bells, backspaces and NUL', 'a\u0007\b\u0000b', '│ ab'],
  ['separators that some readers take for line breaks', 'a\u2028b\u2029c\u0085d\u000be\u000cf', '│ abcdef'],
  ['marks that reorder text', 'a\u202eb\u2066c', '│ abc'],
  ['half of a surrogate pair', 'a\ud83d', '│ a\ufffd'],
  ['nothing', '', '│ '],
])('makes %s harmless', (_, raw, shown) => {
  expect(sanitizeLine(raw)).toBe(shown)
})

test('keeps text in any script', () => {
  expect(sanitizeLine('Schritt 3 — 損失 0,02 🎉 │')).toBe('│ Schritt 3 — 損失 0,02 🎉 │')
})

test('cuts a long line and says so', () => {
  expect(sanitizeLine('x'.repeat(400))).toBe(`│ ${'x'.repeat(400)}`)
  expect(sanitizeLine('x'.repeat(401))).toBe(`│ ${'x'.repeat(400)} … (cut)`)
  expect(sanitizeLine('short', true)).toBe('│ short … (cut)')
})

test('counts no escape sequence as length', () => {
  expect(sanitizeLine(`${'\u001b[31m'.repeat(500)}x`)).toBe('│ x')
})

test('leaves no command, control character or unpaired surrogate in any text', () => {
  const pieces = fc.constantFrom(
    '#',
    '[',
    '::',
    '\u001b',
    '\u001b[',
    '\u009b',
    '\u0000',
    '\u200b',
    '\r',
    '\n',
    '\ud83d',
    'm',
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string({ unit: 'binary' }))), (parts) => {
      const shown = sanitizeLine(parts.join(''))
      expect(shown).not.toContain('##[')
      expect(shown).not.toMatch(/\p{Cc}|\u2028|\u2029/u)
      expect(shown.isWellFormed()).toBe(true)
      expect(shown.startsWith('│ ')).toBe(true)
      expect(plainText(shown)).toBe(shown)
    }),
  )
})
