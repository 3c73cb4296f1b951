// A metrics file on disk is read as its lines are, wherever the chunks of the stream and its line ends fall.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readMetricsFile } from '../../../src/io/load/read-run-files.ts'
import { readMetrics } from '../../../src/read/speedproof.ts'
import { metricsLines } from '../../fixtures/builders.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'

const LINES = metricsLines()
const fileOf = async (text: string) => {
  const path = join(await aFolder(), 'metrics.jsonl')
  await writeFile(path, text)
  return path
}
const read = async (text: string) => await readMetricsFile(await fileOf(text))
/** The file with `note` in the read-back of its run_start, as Python writes it with ensure_ascii=False. */
const withNote = (note: string) => {
  const start = { ...JSON.parse(LINES[0] ?? ''), effective: { note } }
  return [JSON.stringify(start), ...LINES.slice(1)]
}

describe('a metrics file', () => {
  test.each([
    ['\\n', '\n'],
    ['\\r\\n', '\r\n'],
  ])('has lines that end with %s, the last one or not', async (_, end) => {
    const expected = await readMetrics(LINES)
    expect(await read(LINES.join(end))).toEqual(expected)
    expect(await read(LINES.join(end) + end)).toEqual(expected)
    expect(await read(`\uFEFF${LINES.join(end)}`)).toEqual(expected)
  })

  test('may hold what other readers take for line ends inside its texts', async () => {
    const { problem, start } = await read(withNote('a\u2028b\u2029c\u0085d').join('\n'))
    expect(problem).toBeNull()
    expect(start?.effective).toEqual({ note: 'a\u2028b\u2029c\u0085d' })
  })

  test('may have lines of many chunks, which end inside of a character', async () => {
    const note = `x${'ü€😀'.repeat(50_000)}`
    const { problem, start } = await read(withNote(note).join('\n'))
    expect(problem).toBeNull()
    expect(start?.effective.note).toBe(note)
  })

  test('that is none says what it is instead', async () => {
    const folder = await aFolder()
    const problemOf = async (name: string) => (await readMetricsFile(join(folder, name))).problem
    await mkdir(join(folder, 'folder'))
    await symlink(await fileOf(LINES.join('\n')), join(folder, 'link'))
    expect(await problemOf('folder')).toMatchObject({ message: 'metrics.jsonl is not a regular file' })
    expect(await problemOf('link')).toMatchObject({ message: 'metrics.jsonl is not a regular file' })
    expect(await problemOf('none')).toMatchObject({ kind: 'absent' })
    expect((await read('')).problem).toMatchObject({ kind: 'empty' })
  })
})
