// A text that a person writes is read as it is, or refused; one that a trainer writes is read as far as it goes.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError } from '../../../src/errors.ts'
import { readOutput, readText } from '../../../src/io/system/read-text.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'

async function fileOf(bytes: Buffer): Promise<string> {
  const path = join(await aFolder(), 'x.yaml')
  await writeFile(path, bytes)
  return path
}
const latin1 = (text: string) => fileOf(Buffer.from(text, 'latin1'))

test('a text in UTF-8 is read as it is', async () => {
  const text = '\uFEFFa: ü€😀\r\nb: \uFFFD'
  expect(await readText(await fileOf(Buffer.from(text)), 'x.yaml')).toBe(text)
})

test.each([
  ['name: caf\xe9', 1],
  ['a: 1\nb: 2\n\nname: caf\xe9\nc: 3\n', 4],
  ['a: 1\n\xff', 2],
])('of other bytes the line is told: %j', async (text, line) => {
  await expect(readText(await latin1(text), 'x.yaml')).rejects.toThrow(
    new ConfigError(
      `x.yaml, line ${line}: has bytes that are not UTF-8, expected a text file in UTF-8; save it as UTF-8`,
    ),
  )
})

test('what a trainer wrote is read with a mark in place of such bytes', async () => {
  expect(await readOutput(await latin1('caf\xe9'), 10)).toBe('caf\uFFFD')
  await expect(readOutput(await latin1('caf\xe9'), 3)).rejects.toThrow('expected a text file of at most 3')
})
