// Templates escape every text, and only what a template made passes as HTML.
import { expect, test } from 'vitest'
import { html, jsonText, preformatted } from '../../../src/report/html/html.ts'

test('escapes texts and attributes, and keeps what a template made', () => {
  const inner = html`<b>${'<i>'}</b>`
  expect(html`<p title="${'"x" & \'y\''}">${inner}${['<', inner]}${null}${3}</p>`.text).toBe(
    '<p title="&#34;x&#34; &#38; &#39;y&#39;"><b>&#60;i&#62;</b>&#60;<b>&#60;i&#62;</b>3</p>',
  )
})

test('an object that only looks like HTML is no HTML', () => {
  const forged = JSON.parse('{"text": "<script>"}')
  expect(html`${forged}`.text).not.toContain('<script>')
})

test('takes away what hides or turns text, and cuts what is too long', () => {
  expect(html`${'a\u202Eb\u0000c\nd'}`.text).toBe('abc d')
  expect(html`${'x'.repeat(10_000)}`.text.length).toBeLessThan(1000)
})

test('a blank at an end stays one, so that sentences do not run together', () => {
  expect(html`One.${' Two. '}Three.`.text).toBe('One. Two. Three.')
})

test('a command keeps its lines', () => {
  expect(preformatted('a <b>\nc').text).toBe('a &#60;b&#62;\nc')
})

test('JSON for the script holds no end of an element, and reads as it was', () => {
  const value = ['</script>', '<!--', '\u2028']
  const { text } = jsonText(value)
  expect(text).not.toContain('<')
  expect(JSON.parse(text)).toEqual(value)
})
