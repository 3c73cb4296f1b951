// YAML becomes plain data that JSON can hold, or is refused with file, line and remedy.
import { expect, test } from 'vitest'
import { parseYaml } from '../../src/config/yaml.ts'
import { refusal } from '../fixtures/refusal.ts'

const refused = (text: string) => refusal(() => parseYaml(text, 'x.yaml'))

test('reads 1e-3 as a number, and yes, no and 1_000 as texts', () => {
  expect(parseYaml('a: 1e-3\nb: yes\nc: no\nd: 1_000\ne: 010', 'x.yaml')).toEqual({
    a: 0.001,
    b: 'yes',
    c: 'no',
    d: '1_000',
    e: 10,
  })
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
  expect(refused('a:\n\tb: 1')).toMatchInlineSnapshot(
    `"x.yaml, line 2: not valid YAML: Tabs are not allowed as indentation; indent with spaces, YAML does not allow tabs"`,
  )
})

test('refuses a key that stands there twice', () => {
  expect(refused('a: 1\nb: 2\na: 3')).toMatchInlineSnapshot(
    `"x.yaml, line 3: not valid YAML: Map keys must be unique"`,
  )
})

test('refuses .nan and .inf, which JSON would turn into null', () => {
  expect(refused('a:\n  b: .nan')).toMatchInlineSnapshot(`"x.yaml: a.b: got NaN, expected a finite number"`)
  expect(refused('a: [1, -.inf]')).toMatchInlineSnapshot(
    `"x.yaml: a.1: got -Infinity, expected a finite number"`,
  )
  expect(refused('a: 1e999')).toMatchInlineSnapshot(`"x.yaml: a: got Infinity, expected a finite number"`)
})

test('refuses a second document', () => {
  expect(refused('a: 1\n---\nb: 2')).toMatchInlineSnapshot(
    `"x.yaml, line 2: not valid YAML: a second document; expected one"`,
  )
})

test('refuses tags of other languages', () => {
  expect(refused('a: !!python/object x')).toMatchInlineSnapshot(
    `"x.yaml, line 1: not valid YAML: Unresolved tag: tag:yaml.org,2002:python/object"`,
  )
})

test('refuses an alias without an anchor', () => {
  expect(refused('a: *b')).toMatchInlineSnapshot(
    `"x.yaml: not usable YAML: Unresolved alias (the anchor must be set before the alias): b"`,
  )
})

test('refuses an alias that contains itself', () => {
  expect(refused('a: &a\n  b: *a')).toMatchInlineSnapshot(
    `"x.yaml: a.b: an alias to what it stands in; write its value out"`,
  )
  expect(refused('&a [*a]')).toMatchInlineSnapshot(
    `"x.yaml: 0: an alias to what it stands in; write its value out"`,
  )
})

test('refuses aliases that expand to gigabytes', () => {
  const level = (name: string, of: string) => `${name}: &${name} [${Array(10).fill(of).join(', ')}]`
  const bomb = [level('a', 'x'), level('b', '*a'), level('c', '*b'), level('d', '*c'), level('e', '*d')]
  expect(refused(bomb.join('\n'))).toMatchInlineSnapshot(
    `"x.yaml: not usable YAML: Excessive alias count indicates a resource exhaustion attack"`,
  )
})

test('refuses brackets nested past the stack', () => {
  expect(refused('['.repeat(10_000))).toMatch(/^x\.yaml, line 1: not valid YAML: /)
})
