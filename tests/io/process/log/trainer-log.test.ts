import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TrainerLog } from '../../../../src/io/process/log/trainer-log.ts'
import { aFolder } from '../../../fixtures/processes/launching.ts'

async function* streamOf(...chunks: string[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk, 'latin1')
}

async function logged(chunks: string[], maxBytes?: number): Promise<{ text: string; lines: string[] }> {
  const path = join(await aFolder(), 'log.txt')
  const lines: string[] = []
  {
    await using log = new TrainerLog(await open(path, 'w'), (line) => lines.push(line), maxBytes)
    await log.drain(streamOf(...chunks))
  }
  return { text: await readFile(path, 'latin1'), lines }
}

test('keeps every byte, whatever the live view makes of it', async () => {
  const { text, lines } = await logged(['\x1b[31mred\x00\xff', '\r##[x]\n::y::'])
  expect(text).toBe('\x1b[31mred\x00\xff\r##[x]\n::y::')
  expect(lines).toEqual(['│ red\ufffd', '│ # #[x]', '│ ::y::'])
})

test('keeps the end of what is too long, and counts what is lost between', async () => {
  const { text } = await logged(['head', 'x'.repeat(100_000), 'traceback\n'], 4)
  expect(text.startsWith('head\n[speedproof: 34474 bytes dropped here, the log is limited to 4]\nxxx')).toBe(
    true,
  )
  expect(text.endsWith('xtraceback\n')).toBe(true)
  expect(text.length).toBeLessThan(66_000)
})

test('drops nothing at the limit itself', async () => {
  expect((await logged(['12', '34'], 4)).text).toBe('1234')
})

test('reads on when the disk is full, and says so once', async () => {
  const lines: string[] = []
  {
    await using log = new TrainerLog(await open('/dev/full', 'w'), (line) => lines.push(line))
    await log.drain(streamOf('a\n', 'b\n'))
  }
  expect(lines).toEqual(['│ a', expect.stringContaining('cannot be written any more: Error: ENOSPC'), '│ b'])
})

test('two streams do not mix within a chunk', async () => {
  const path = join(await aFolder(), 'log.txt')
  {
    await using log = new TrainerLog(await open(path, 'w'), () => {})
    const [a, b] = ['a'.repeat(100_000), 'b'.repeat(100_000)]
    await Promise.all([log.drain(streamOf(a, a)), log.drain(streamOf(b, b))])
  }
  expect(await readFile(path, 'latin1')).toMatch(/^((a{100000})|(b{100000})){4}$/)
})
