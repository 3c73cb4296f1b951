// Config files that are changed in a few values: everything else keeps its form.
import { expect, test } from 'vitest'
import { changedText, formatOf, parseConfig } from '../../../src/config/formats/formats.ts'
import type { Settings } from '../../../src/config/parse/mapping.ts'
import { refusal } from '../../fixtures/refusal.ts'

function change(file: string, text: string, set: Settings): string {
  const format = formatOf(file)
  if (format === null) throw new Error(`${file} has no format`)
  return changedText(format, text, set, file, 'set')
}

const YAML = `# of the model
lr: 1.0e-3 # tuned
decay: 1.0
old: 010
when: yes
"a.b": { c: 1.50 }
speed:
  compile: false
  rates: [ 1.0, 2 ]
name: it's
`

test('YAML keeps comments, numbers and quotes', () => {
  expect(change('a.yaml', YAML, { 'speed.compile': true, '"a.b".c': 2 })).toBe(
    YAML.replace('compile: false', 'compile: true').replace('1.50', '2.0'),
  )
})

test('YAML gets new values that readers of both versions take for the same', () => {
  const changed = change('a.yml', 'a: 1\n', { b: 1e-7, c: 'yes', d: { on: [1, 'x'] }, 'e.no': null })
  expect(changed).toBe('a: 1\nb: 1.0e-7\nc: "yes"\nd: { "on": [ 1, "x" ] }\ne:\n  "no": null\n')
})

test.each([
  '010',
  '0o10',
  '10_000',
  '1:30',
  '190:20:30.15',
  '0b11',
  '1e3',
  '.5',
  'yes',
  'Off',
  '~',
  '2026-11-28',
])(
  'YAML that is written anew keeps %s as it stands, which readers of both versions would write in their own ways',
  (value) => {
    const text = `a: ${value} # why\nb: [ ${value}, x ]\nc: { d: ${value} }\ne:\n  - ${value}\nspeed: 1\n`
    expect(change('a.yaml', text, { speed: 2 })).toBe(text.replace('speed: 1', 'speed: 2'))
  },
)

test('JSON in a YAML file stays JSON', () => {
  const changed = change('a.yaml', '{"a": 1.0, "b": {"c": 2}}', { 'b.d': 'x', 'b.e.f': true })
  expect(JSON.parse(changed)).toEqual({ a: 1, b: { c: 2, d: 'x', e: { f: true } } })
  expect(changed).toContain('1.0')
})

test('a change behind an alias stays where it is made', () => {
  const changed = change('a.yaml', 'a: &a { x: 1 }\nb: *a\n', { 'b.x': 2 })
  expect(changed).toBe('a: &a { x: 1 }\nb: { x: 2 }\n')
})

test('a change that would reach other keys is refused', () => {
  expect(refusal(() => change('a.yaml', 'a: &a\n  x: 1\nb: *a\n', { 'a.x': 2 }))).toMatch(
    /^set: cannot be written into a\.yaml, where one value stands for several keys/,
  )
})

test('JSON keeps its numbers', () => {
  const text = '{"lr": 1.0, "eps": 1e-8, "n": 12345678901234567890, "speed": {"f": 2.0}}'
  const changed = change('a.json', text, { 'speed.f': 3, 'speed.new': 4 })
  for (const kept of ['1.0', '1e-8', '12345678901234567890', '"f": 3.0', '"new": 4\n'])
    expect(changed).toContain(kept)
})

test('TOML keeps integers and floats apart', () => {
  const text = 'lr = 1.0\nn = 3\nbig = 9223372036854775807\nday = 2026-01-02\n[speed]\nf = 2.0\n'
  expect(change('a.toml', text, { 'speed.f': 3, 'speed.n': 4, 'speed.on': true })).toBe(
    'lr = 1.0\nn = 3\nbig = 9223372036854775807\nday = 2026-01-02\n\n[speed]\nf = 3.0\nn = 4\non = true\n',
  )
  expect(refusal(() => change('a.toml', text, { n: null }))).toContain('null, which TOML does not have')
  expect(refusal(() => change('a.toml', 'a = \n', {}))).toMatch(/^a\.toml, line 1: not valid TOML/)
})

test.each(['a.yaml', 'a.json', 'a.toml'])('in %s, a setting below a value is refused by name', (file) => {
  const text = file === 'a.toml' ? 'a = 1\n' : '{"a": 1}'
  expect(refusal(() => change(file, text, { 'a.b': 2 }))).toBe(
    `set: a.b in ${file}: a is 1 there, expected a mapping of keys. Name a key of a mapping, or remove the setting`,
  )
})

test('a file of another format has none', () => {
  expect([formatOf('config.py'), formatOf('config'), formatOf('a/.yaml')]).toEqual([null, null, null])
})

test('a JSON file that is none is refused by name', () => {
  const format = formatOf('a.json')
  expect(refusal(() => format && parseConfig(format, '{', 'a.json'))).toMatch(/^a\.json: not valid JSON/)
  expect(refusal(() => format && parseConfig(format, '[1]', 'a.json'))).toContain('expected a mapping')
})
