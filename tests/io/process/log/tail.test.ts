import { execFileSync } from 'node:child_process'
import { appendFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FileTail } from '../../../../src/io/process/log/tail.ts'
import { aFolder } from '../../../fixtures/processes/launching.ts'

const MEBIBYTE = 1024 ** 2

async function aTail(): Promise<{ path: string; tail: FileTail }> {
  const path = join(await aFolder(), 'metrics.jsonl')
  return { path, tail: new FileTail(path) }
}

test('gives the lines that are new since the last call', async () => {
  const { path, tail } = await aTail()
  await writeFile(path, 'a\nb\n')
  expect(await tail.read()).toEqual(['a', 'b'])
  expect(await tail.read()).toEqual([])
  await appendFile(path, 'c\n')
  expect(await tail.read()).toEqual(['c'])
})

test('keeps a half-written line, and a half-written character, for the next call', async () => {
  const { path, tail } = await aTail()
  await writeFile(path, Buffer.from('a\n€').subarray(0, 3))
  expect(await tail.read()).toEqual(['a'])
  await appendFile(path, Buffer.from('€\n').subarray(1))
  expect(await tail.read()).toEqual(['€'])
})

test('a file that is not there yet has no lines', async () => {
  const { path, tail } = await aTail()
  expect(await tail.read()).toEqual([])
  await writeFile(path, 'a\n')
  expect(await tail.read()).toEqual(['a'])
})

test('starts again when the file was replaced, shortened, or removed and written anew', async () => {
  const { path, tail } = await aTail()
  await writeFile(path, 'old 1\nold 2\n')
  await tail.read()
  await writeFile(`${path}.new`, 'new 1\nnew 2\nnew 3\n')
  await rename(`${path}.new`, path)
  expect(await tail.read()).toEqual(['new 1', 'new 2', 'new 3'])
  await truncate(path, 0)
  await appendFile(path, 'short\n')
  expect(await tail.read()).toEqual(['short'])
  await rm(path)
  expect(await tail.read()).toEqual([])
  await writeFile(path, 'a\n')
  expect(await tail.read()).toEqual(['a'])
})

test('skips a line beyond 1 MiB, however long it is', async () => {
  const { path, tail } = await aTail()
  await writeFile(path, `a\n${'x'.repeat(9 * MEBIBYTE)}`)
  const lines = []
  for (let call = 0; call < 5; call++) lines.push(...(await tail.read()))
  await appendFile(path, `xx\nb\n${'y'.repeat(MEBIBYTE + 1)}\n${'z'.repeat(MEBIBYTE)}\n`)
  for (let call = 0; call < 2; call++) lines.push(...(await tail.read()))
  expect(lines.map((line) => line.slice(0, 2))).toEqual(['a', 'b', 'zz'])
})

test('takes no more than 4 MiB at a time and loses nothing', async () => {
  const { path, tail } = await aTail()
  await writeFile(path, `${'x'.repeat(MEBIBYTE - 1)}\n`.repeat(10))
  const counts = []
  for (let call = 0; call < 4; call++) counts.push((await tail.read()).length)
  expect(counts).toEqual([4, 4, 2, 0])
})

test('a folder or a pipe in its place has no lines and blocks nothing', async () => {
  const folder = await aFolder()
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  expect(await new FileTail(folder).read()).toEqual([])
  expect(await new FileTail(pipe).read()).toEqual([])
})
