// A run reports the config that it was given; what it adds, and how it writes a number, is its own affair.
import { expect, test } from 'vitest'
import { otherValue } from '../../../src/config/same-work/reported-config.ts'

const GIVEN = {
  batch: 512,
  eps: 1e-8,
  rate: '1e-3',
  zero: 0,
  note: null,
  speed: { fused: true, wrapper: 'ddp', nccl: null },
  layers: [{ type: 'linear', dim: 8 }, { type: 'norm' }],
}

test.each([
  ['as it was given', GIVEN],
  ['with defaults', { ...GIVEN, seed: 0, speed: { ...GIVEN.speed, graph: false } }],
  ['with a default in the place of null', { ...GIVEN, note: 'none', speed: { ...GIVEN.speed, nccl: {} } }],
  [
    'without what is null',
    {
      batch: 512,
      eps: 1e-8,
      rate: '1e-3',
      zero: 0,
      speed: { fused: true, wrapper: 'ddp' },
      layers: GIVEN.layers,
    },
  ],
  ['in another order', { ...GIVEN, layers: [{ dim: 8, type: 'linear' }, { type: 'norm' }] }],
  [
    'with defaults in a list',
    { ...GIVEN, layers: [{ type: 'linear', dim: 8, bias: true }, { type: 'norm' }] },
  ],
  ['with a number as text', { ...GIVEN, eps: '1e-8' }],
  ['with a text as the number that it is', { ...GIVEN, rate: 0.001 }],
])('%s is the same', (_, reported) => {
  expect(otherValue(GIVEN, reported)).toBeNull()
})

test('without a section in which nothing is set is the same', () => {
  expect(otherValue({ speed: {}, recipe: { nth: null } }, {})).toBeNull()
})

test.each([
  ['another value', { ...GIVEN, speed: { ...GIVEN.speed, fused: false } }, 'speed.fused', true, false],
  ['no key', { ...GIVEN, speed: {} }, 'speed.fused', true, undefined],
  ['nothing', {}, 'batch', 512, undefined],
  ['null', { ...GIVEN, batch: null }, 'batch', 512, null],
  ['another text', { ...GIVEN, rate: '1e-4' }, 'rate', '1e-3', '1e-4'],
  ['an empty text', { ...GIVEN, zero: '' }, 'zero', 0, ''],
  ['a boolean', { ...GIVEN, zero: false }, 'zero', 0, false],
  ['a value in the place of a section', { ...GIVEN, speed: 3 }, 'speed.fused', true, undefined],
  [
    'another order of a list',
    { ...GIVEN, layers: [...GIVEN.layers].reverse() },
    'layers.0.type',
    'linear',
    'norm',
  ],
  ['a longer list', { ...GIVEN, layers: [...GIVEN.layers, 1] }, 'layers', GIVEN.layers, [...GIVEN.layers, 1]],
])('%s is another config', (_, whole, key, given, reported) => {
  expect(otherValue(GIVEN, whole)).toEqual({ key, given, reported })
})

test('a key is the own one of a mapping', () => {
  expect(otherValue({}, { constructor: 1, toString: 2 })).toBeNull()
  expect(otherValue({ constructor: 1 }, {})).toMatchObject({ key: 'constructor' })
})

test.each([
  ['yes', true],
  ['False', false],
  ['010', 8],
  ['1_000', 1000],
  ['1:30', 90],
  ['0b11', 3],
])('a bare %s of a copied file may be reported as %s', (given, reported) => {
  expect(otherValue({ a: given }, { a: reported })).toBeNull()
  expect(otherValue({ a: given }, { a: 'another' })).toMatchObject({ key: 'a' })
  expect(otherValue({ a: given }, { a: 77 })).toMatchObject({ key: 'a' })
})

test('the hash of a file that is not read need not be reported', () => {
  expect(otherValue({ 'config file': 'c0de' }, {})).toBeNull()
})
