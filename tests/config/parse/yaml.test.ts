// YAML becomes plain data that JSON can hold, or is refused with file, line and remedy.
import { expect, test } from 'vitest'
import { parseSetFlags } from '../../../src/config/overrides/set-flags.ts'
import { parseYaml } from '../../../src/config/parse/yaml.ts'
import { refusal } from '../../fixtures/refusal.ts'

const refused = (text: string) => refusal(() => parseYaml(text, 'x.yaml'))

test('reads 1e-3 as a number', () => {
  expect(parseYaml('a: 1e-3', 'x.yaml')).toEqual({ a: 0.001 })
})

test.each(['010', '08', '1_000', '1:30', '0b11', '-1_0.5'])(
  'refuses a bare %s, of which readers of YAML make different values',
  (text) => {
    expect(refused(`a: 1\nb: ${text}`)).toContain(`x.yaml, line 2: got ${text}, which readers of YAML`)
    expect(refused(`b: ${text}`)).toContain(`or "${text}" in quotes for a string`)
    expect(parseYaml(`b: "${text}"`, 'x.yaml')).toEqual({ b: text })
  },
)

test('keeps what is unclear as a text in a file that the trainer reads itself', () => {
  const text = 'a: yes\nb: 010\nc: .inf\nd: 9007199254740993\ne: 0.5\nf: 0'
  expect(parseYaml(text, 'x.yaml', 'copied')).toEqual({
    ...{ a: 'yes', b: '010', c: '.inf', d: '9007199254740993', e: 0.5, f: 0 },
  })
})

test('refuses a bare yes, no, on or off, which readers of YAML take for different things', () => {
  expect(refused('a:\n  b: no')).toMatch(
    /^x\.yaml, line 2: got no, expected true or false, or "no" in quotes/,
  )
  expect(refused('a: [Off]')).toContain('x.yaml, line 1: got Off, expected true or false')
  expect(parseYaml('a: "no"\non: 1\nb: !!str off', 'x.yaml')).toEqual({ a: 'no', on: 1, b: 'off' })
  expect(parseSetFlags(['speed.compile=off'])).toEqual({ 'speed.compile': 'off' })
})

test('merges what << refers to, under what stands beside it', () => {
  const text = 'base: &base {drop: 0.1, act: gelu}\nmodel: {<<: *base, act: relu}'
  expect(parseYaml(text, 'x.yaml')).toMatchObject({ model: { drop: 0.1, act: 'relu' } })
})

test('calls an empty file empty, and reads one of comments as null', () => {
  expect(refusal(() => parseYaml(' \n', 'x.yaml'))).toBe('x.yaml: is empty; expected YAML')
  expect(parseYaml('# only a comment\n', 'x.yaml')).toBeNull()
})

test('accepts CRLF and a byte order mark', () => {
  expect(parseYaml('\uFEFFa: 1\r\nb: 2\r\n', 'x.yaml')).toEqual({ a: 1, b: 2 })
})

test('follows an alias that stands beside its anchor', () => {
  expect(parseYaml('a: &a [1]\nb: *a', 'x.yaml')).toEqual({ a: [1], b: [1] })
})

test('refuses tabs and says what to use', () => {
  expect(refused('a:\n\tb: 1')).toMatch(/^x\.yaml, line 2: not valid YAML: .*; indent with spaces/)
})

test('refuses a key that stands there twice', () => {
  expect(refused('a: 1\nb: 2\na: 3')).toMatch(/^x\.yaml, line 3: not valid YAML: .*unique; remove one/)
})

test('refuses .nan and .inf, which JSON would turn into null', () => {
  expect(refused('a:\n  b: .nan')).toMatchInlineSnapshot(`"x.yaml: a.b: got NaN, expected a finite number"`)
  expect(refused('a: [1, -.inf]')).toMatchInlineSnapshot(
    `"x.yaml: a.1: got -Infinity, expected a finite number"`,
  )
  expect(refused('a: 1e999')).toMatchInlineSnapshot(`"x.yaml: a: got Infinity, expected a finite number"`)
})

test('refuses keys that are one text', () => {
  expect(refused('a:\n  1: b\n  "1": c')).toMatch(/^x\.yaml, line 3: got the key 1 twice, .*Remove one$/)
  expect(refused('true: b\n"true": c')).toContain('x.yaml, line 2: got the key true twice')
  expect(parseYaml('a: &a {x: 1}\nb: {<<: *a, <<: {y: 2}}', 'x.yaml')).toMatchObject({ b: { x: 1, y: 2 } })
  expect(refused('~: a\n"": b')).toContain('x.yaml, line 2: got the key "" twice')
  expect(refused('x: &k 1\n*k : a\n"1": b')).toContain('x.yaml, line 3: got the key 1 twice')
  expect(parseYaml('null: a\n"null": b', 'x.yaml')).toEqual({ '': 'a', null: 'b' })
  expect(parseYaml('1: b\n1.5: c\n"2": d', 'x.yaml')).toEqual({ 1: 'b', 1.5: 'c', 2: 'd' })
})

test('refuses a number that would be 0, and takes a 0', () => {
  expect(refused('a:\n  b: 1e-400')).toMatch(/^x\.yaml, line 2: got 1e-400, .*as 0; write 0, .*5e-324$/)
  expect(refused('a: -0.5e-999')).toContain('x.yaml, line 1: got -0.5e-999, which')
  expect(parseYaml('[0, 0.0, 0e5, 5e-324, "1e-400"]', 'x.yaml')).toEqual([0, 0, 0, 5e-324, '1e-400'])
})

test('refuses whole numbers that a double would change, and only those', () => {
  expect(refused('a:\n  b: 9007199254740993')).toMatch(
    /^x\.yaml, line 2: got 9007199254740993, expected .*-9007199254740991 to 9007199254740991\..*"9007199254740993" in quotes/,
  )
  for (const number of [
    '-9007199254740992',
    '12345678901234567890',
    '0x20000000000001',
    '[1, 0o777777777777777777777]',
  ])
    expect(refused(`a: ${number}`)).toContain('x.yaml, line 1: got ')
  expect(refused('9007199254740993: 1')).toContain('x.yaml, line 1: got 9007199254740993, expected')
  expect(parseYaml('a: 9007199254740991\nb: 1e22\nc: "9007199254740993"', 'x.yaml')).toEqual({
    a: 9007199254740991,
    b: 1e22,
    c: '9007199254740993',
  })
})

test('refuses a list or mapping as a key, as a template makes one that was not rendered', () => {
  expect(refused('a: 1\nx: {{ y }}')).toMatch(
    /^x\.yaml, line 2: got \{ y \} as a key, expected a string\. .*quote a template as a whole: "\{\{ name \}\}"$/,
  )
  expect(refused('? [a]\n: 1')).toContain('x.yaml, line 1: got [a] as a key, expected a string')
  expect(refused('b: &b [1]\n? *b\n: 2')).toContain('x.yaml, line 2: got *b as a key, expected a string')
  expect(parseYaml('x: "{{ y }}"\na: &a name\n*a : 1', 'x.yaml')).toEqual({
    x: '{{ y }}',
    a: 'name',
    name: 1,
  })
})

test('refuses a second document', () => {
  expect(refused('a: 1\n---\nb: 2')).toMatch(
    /^x\.yaml, line 2: not valid YAML: got a second document, expected one; remove .*---/,
  )
})

test.each([
  ['a: [1, 2\nb: 3', 2, /close each open bracket/],
  ['a: "x\nb: 3', 2, /close what is open/],
  ['a: b: c', 1, /one key per line/],
  ['a:\n  b: 1\n c: 2', 3, /the same indentation/],
  ['a: 1\nfoo\nb: 2', 2, /put a colon and a space after the key/],
  ['a: @x', 1, /put a string with special characters in quotes/],
  ["a: 'it's'", 1, /check the brackets, quotes, colons and indentation/],
  ['a: b\nc: *d', 2, /set &d first/],
])('says how to fix a common mistake: %j', (text, line, remedy) => {
  expect(refused(text)).toMatch(new RegExp(`^x\\.yaml, line ${line}: not valid YAML: .*; .*${remedy.source}`))
})

test('refuses tags of other languages', () => {
  expect(refused('a: !!python/object x')).toMatch(
    /^x\.yaml, line 1: not valid YAML: .*python\/object; remove the tag$/,
  )
})

test('refuses an alias without an anchor', () => {
  expect(refused('a: *b')).toMatch(
    /^x\.yaml, line 1: not valid YAML: \*b has no anchor before it; set &b first/,
  )
})

test('refuses an alias that contains itself', () => {
  expect(refused('a: &a\n  b: *a')).toMatch(
    /^x\.yaml: a\.b: got an alias to a value that contains it; write the value out$/,
  )
  expect(refused('&a [*a]')).toMatch(/^x\.yaml: 0: got an alias to a value that contains it/)
})

test('refuses a key that parsers drop without a word, wherever it stands', () => {
  expect(refused('gates: { __proto__: { at_least: 3 }, speedup: { at_least: 3 } }')).toMatch(
    /^x\.yaml: gates\.__proto__: unknown key; .*Remove it$/,
  )
  expect(refused('variants: { baseline: { set: { speed.__proto__.x: 1 } } }')).toContain(
    'variants.baseline.set.speed.__proto__.x: unknown key',
  )
  expect(refused('launch: { env: { "__proto__": "1" } }')).toContain('launch.env.__proto__: unknown key')
  expect(refused('__proto__: 1')).toContain('x.yaml: __proto__: unknown key')
})

test.each([
  '!!omap [width: .nan]',
  '!!omap [__proto__: { width: 3 }]',
  '!!set { __proto__ }',
  '!!binary aGVsbG8=',
])('refuses %s, which JSON has no form for', (value) => {
  expect(refused(`model: ${value}`)).toMatch(
    /^x\.yaml: model: got a tag !!omap, !!set or !!binary, .* Remove the tag/,
  )
})

test('refuses aliases that expand to gigabytes', () => {
  const level = (name: string, of: string) => `${name}: &${name} [${Array(10).fill(of).join(', ')}]`
  const bomb = [level('a', 'x'), level('b', '*a'), level('c', '*b'), level('d', '*c'), level('e', '*d')]
  expect(refused(bomb.join('\n'))).toMatch(/^x\.yaml: not usable YAML: .*alias/)
})

test('refuses brackets nested past the stack', () => {
  expect(refused('['.repeat(10_000))).toMatch(/^x\.yaml, line 1: not valid YAML: /)
})
