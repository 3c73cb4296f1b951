import { expect, test } from 'vitest'
import { LineSplitter } from '../../../../src/io/process/log/line-splitter.ts'

function split(...chunks: (string | Buffer)[]): string[] {
  const lines: string[] = []
  const splitter = new LineSplitter(({ bytes, wasCut }) => lines.push(`${bytes}${wasCut ? '…' : ''}`))
  for (const chunk of chunks) splitter.push(Buffer.from(chunk))
  splitter.end()
  return lines
}

test('breaks lines at \\n, \\r\\n and lone \\r', () => {
  expect(split('a\nb\r\nc\rd\n')).toEqual(['a', 'b', 'c', 'd'])
})

test('takes \\r\\n across two chunks for one break', () => {
  expect(split('a\r', '\nb\n')).toEqual(['a', 'b'])
})

test('takes \\r and \\n with text between them for two breaks', () => {
  expect(split('a\r', 'b', '\nc')).toEqual(['a', 'b', 'c'])
})

test('keeps empty lines and an unterminated last one', () => {
  expect(split('\n\n\r\r\n', 'end')).toEqual(['', '', '', '', 'end'])
})

test('joins a line, and a character, that come in pieces', () => {
  const euro = Buffer.from('€')
  expect(split('1 ', euro.subarray(0, 1), euro.subarray(1), '\n')).toEqual(['1 €'])
})

test('tolerates invalid UTF-8', () => {
  expect(split(Buffer.from([0x61, 0xff, 0xc3, 0x0a, 0x62]))).toEqual(['a\ufffd\ufffd', 'b'])
})

test('cuts a line of 1 GB without holding it, and finds the next one', () => {
  const lines: { length: number; wasCut: boolean }[] = []
  const splitter = new LineSplitter(({ bytes, wasCut }) => lines.push({ length: bytes.length, wasCut }))
  const chunk = Buffer.alloc(1024 ** 2, 'x')
  const before = process.memoryUsage().rss
  for (let count = 0; count < 1024; count++) splitter.push(chunk)
  splitter.push(Buffer.from('\nnext\n'))
  expect(process.memoryUsage().rss - before).toBeLessThan(64e6)
  expect(lines).toEqual([
    { length: 4096, wasCut: true },
    { length: 4, wasCut: false },
  ])
})
