// Numbers as they are read: rounded here and nowhere else.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  bytes,
  cautious,
  confidence,
  duration,
  number,
  percent,
  placesOf,
  ratio,
  seconds,
  signed,
  toPlace,
} from '../../src/text/numbers.ts'

const NOT_FINITE = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

test('a number has at least 4 significant digits, and an exponent only when tiny or huge', () => {
  const values = [
    0, -0, 1, -1, 0.02, 12.345, 999.9995, 0.99999, 12345, 999_999, 999_999.9, 1e6, 1e-4, 9.9999e-5, 1e-9,
    -1e-9,
  ]
  expect(values.map((value) => `${value} -> ${number(value)}`)).toMatchInlineSnapshot(`
    [
      "0 -> 0",
      "0 -> 0",
      "1 -> 1.000",
      "-1 -> -1.000",
      "0.02 -> 0.02000",
      "12.345 -> 12.35",
      "999.9995 -> 1000",
      "0.99999 -> 1.000",
      "12345 -> 12345",
      "999999 -> 1.000e+6",
      "999999.9 -> 1.000e+6",
      "1000000 -> 1.000e+6",
      "0.0001 -> 0.0001000",
      "0.000099999 -> 0.0001000",
      "1e-9 -> 1.000e-9",
      "-1e-9 -> -1.000e-9",
    ]
  `)
})

test('a ratio has 3 significant digits', () => {
  expect(
    [3, 3.1249, 12.34, 99.96, 123.4, 0.97, 0.0042, 1].map((value) => ratio(value)),
  ).toMatchInlineSnapshot(`
    [
      "3.00x",
      "3.12x",
      "12.3x",
      "100x",
      "123x",
      "0.970x",
      "0.00420x",
      "1.00x",
    ]
  `)
})

test('a signed number always has its sign', () => {
  expect([0, 0.00012, -0.00012, -1e-9, 1].map((value) => signed(value))).toMatchInlineSnapshot(`
    [
      "+0",
      "+0.000120",
      "-0.000120",
      "-1.00e-9",
      "+1.00",
    ]
  `)
})

test('seconds take the unit in which they are read best', () => {
  expect(
    [0, 1.2745, 0.99951, 0.0123, 0.00099951, 0.00085, 1e-9, 75, -0.5].map(seconds),
  ).toMatchInlineSnapshot(`
    [
      "0 s",
      "1.27 s",
      "1.00 s",
      "12.3 ms",
      "1.00 ms",
      "850 us",
      "0.00100 us",
      "75.0 s",
      "-500 ms",
    ]
  `)
})

test('a duration carries over to minutes and hours when it is rounded', () => {
  expect(
    [0, 0.4, 45, 59.4, 59.6, 200, 3599.4, 3599.7, 3900, 90_000, -1].map(duration),
  ).toMatchInlineSnapshot(`
    [
      "0 s",
      "0 s",
      "45 s",
      "59 s",
      "1 min 00 s",
      "3 min 20 s",
      "59 min 59 s",
      "1 h 00 min",
      "1 h 05 min",
      "25 h 00 min",
      "0 s",
    ]
  `)
})

test('memory is in GB as the limit, and in GiB as the tools show it', () => {
  expect([0, 50e9, 1, 141e9].map((value) => bytes(value))).toMatchInlineSnapshot(`
    [
      "0 GB (0 GiB)",
      "50.0 GB (46.6 GiB)",
      "1.00e-9 GB (9.31e-10 GiB)",
      "141 GB (131 GiB)",
    ]
  `)
})

test('a share is in percent', () => {
  expect([0, 0.95, 1, 0.123, 0.0004].map((value) => percent(value))).toMatchInlineSnapshot(`
    [
      "0%",
      "95%",
      "100%",
      "12%",
      "0.040%",
    ]
  `)
})

describe('what is not finite', () => {
  test.each([number, ratio, signed, seconds, duration, bytes, percent])(
    'is not measured, by %o',
    (format) => {
      for (const value of NOT_FINITE) expect(format(value)).toBe('not measured')
    },
  )
})

/** The script of the page has it in itself. */
const MAY_ROUND = ['text/numbers.ts', 'report/html/bundled.ts']

test('no other file rounds', () => {
  const root = join(import.meta.dirname, '../../src')
  const files = globSync('**/*.ts', { cwd: root }).filter((file) => !MAY_ROUND.includes(file))
  expect(files.length).toBeGreaterThan(100)
  const rounding = /\.to(Fixed|Precision|Exponential|LocaleString)\(|Intl\.NumberFormat/
  expect(files.filter((file) => rounding.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
})

describe('two bounds', () => {
  const texts = (lower: number, upper: number, significant = 3) => {
    const places = placesOf(lower, upper, significant)
    return `${toPlace(cautious(lower, 'down', places), places)} to ${toPlace(cautious(upper, 'up', places), places)}`
  }

  test.each([
    [2.9961, 3.1249, '2.99 to 3.13'],
    [-0.00012345, 0.00206, '-0.00013 to 0.00206'],
    [0.9554, 1.1321, '0.95 to 1.14'],
    [9.999, 12.34, '9.9 to 12.4'],
    [-1.234e-6, 4.567e-5, '-1.3e-6 to 4.57e-5'],
    [-0.00001, 5.0001, '-0.01 to 5.01'],
    [1234.5, 98765.4, '1200 to 98800'],
    [0, 2.345, '0.00 to 2.35'],
    [0, 0, '0 to 0'],
    [0, 2.345e-120, '0 to 2.35e-120'],
  ])(
    '%d and %d have the same decimals, and are moved outward by less than one of them',
    (lower, upper, text) => {
      expect(texts(lower, upper)).toBe(text)
    },
  )

  test('of three digits stay as they are', () => {
    for (const value of [3, 3.12, 1.15, 0.57, 1e-4, 0]) {
      const places = placesOf(value, value, 3)
      expect([cautious(value, 'down', places), cautious(value, 'up', places)]).toEqual([value, value])
    }
  })
})

test('a confidence tells two looks from three', () => {
  expect([1, 2, 3, 4].map((looks) => confidence(1 - 0.05 / looks))).toEqual([
    '95%',
    '97.5%',
    '98.3%',
    '98.8%',
  ])
})
