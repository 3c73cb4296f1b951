// Untrusted text in a table cell of a comment does nothing but show itself.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeCell, MAX_CELL_CHARACTERS } from '../../../src/report/escape.ts'

/** What a Markdown renderer shows: character references become characters again. */
function rendered(cell: string): string {
  return cell.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
}

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        '|',
        '\n',
        '\r',
        '`',
        '<',
        '@octocat',
        '#12',
        'GH-3',
        '![',
        '](',
        'https://',
        'www.a.b',
        '\\',
        '&#124;',
        '\u202E',
      ),
    )
    .map((parts) => parts.join('')),
)

describe('an escaped cell', () => {
  it('shows plain text as it is', () => {
    expect(escapeCell('NVIDIA H100 80GB HBM3, 3.0x (seed 1)')).toBe('NVIDIA H100 80GB HBM3, 3.0x (seed 1)')
  })

  it.each([
    ['a|b', 'a&#124;b'],
    ['a\r\nb\tc', 'a b c'],
    ['<img src=x>', '&#60;img src=x&#62;'],
    ['@octocat', '@\u200Boctocat'],
    ['fixes #12', 'fixes #\u200B12'],
    ['\\|', '&#92;&#124;'],
    ['&#124;', '&#38;#\u200B124;'],
    ['[x](https://a.b)', '&#91;x&#93;(https:\u200B//a.b)'],
    ['run\u202Ekcab', 'runkcab'],
  ])('of %j', (text, cell) => {
    expect(escapeCell(text)).toBe(cell)
  })

  it('has no character with a meaning in Markdown, tables or HTML', () => {
    fc.assert(fc.property(hostile, (text) => !/[|<>`*_~[\]\\$\r\n]|&(?!#\d+;)/.test(escapeCell(text))))
  })

  it('has no mention, reference or address left after rendering', () => {
    const linking = /@\w|#\d|\bGH-\d|:\/\/|\bwww\.\w/i
    fc.assert(fc.property(hostile, (text) => !linking.test(rendered(escapeCell(text)))))
  })

  it('shows every visible character', () => {
    const printable = fc.string({ unit: 'grapheme-ascii', maxLength: MAX_CELL_CHARACTERS })
    fc.assert(
      fc.property(printable, (text) => {
        const shown = rendered(escapeCell(text)).replaceAll('\u200B', '')
        expect(shown).toBe(text.replace(/\s+/g, ' ').trim())
      }),
    )
  })

  it('is cut when the text is long', () => {
    expect(escapeCell('x'.repeat(1000))).toBe(`${'x'.repeat(MAX_CELL_CHARACTERS - 1)}…`)
  })
})
