// A metrics file on disk is read as its lines are, wherever the chunks of the stream and its line ends fall.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { keptMetrics, readRunMetrics } from '../../../src/io/load/read-run-files.ts'
import { speedproof } from '../../../src/read/sources/speedproof.ts'
import { metricsLines, readMetricsLines } from '../../fixtures/builders.ts'
import { aFolder } from '../../fixtures/processes/launching.ts'

const LINES = metricsLines()
/** The folder of a run that has left this as its metrics. */
const runWith = async (text: string) => {
  const folder = await aFolder()
  await mkdir(join(folder, 'trainer'))
  await writeFile(join(folder, 'trainer', 'metrics.jsonl'), text)
  return folder
}
const read = async (text: string) => await readRunMetrics(await runWith(text), speedproof)
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
    const expected = await readMetricsLines(LINES)
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
    expect(start?.effective?.note).toBe(note)
  })

  test('that is none says what it is instead', async () => {
    const folder = await aFolder()
    const problemOf = async (name: string) => (await readRunMetrics(join(folder, name), speedproof)).problem
    const metricsIn = (name: string) => join(folder, name, 'trainer', 'metrics.jsonl')
    await mkdir(metricsIn('folder'), { recursive: true })
    await mkdir(join(folder, 'link', 'trainer'), { recursive: true })
    await symlink(join(await runWith(LINES.join('\n')), 'trainer', 'metrics.jsonl'), metricsIn('link'))
    for (const name of ['folder', 'link']) {
      const message = expect.stringMatching(/^metrics\.jsonl is not a regular file/)
      expect(await problemOf(name)).toMatchObject({ message })
    }
    expect(await problemOf('none')).toMatchObject({ kind: 'absent' })
    expect((await read('')).problem).toMatchObject({ kind: 'empty' })
  })
})

test('the lines of the metrics are kept with their file, or not at all', async () => {
  expect(await keptMetrics(await runWith(`${LINES.join('\n')}\n`), speedproof)).toEqual({
    'trainer/metrics.jsonl': LINES,
  })
  expect(await keptMetrics(await aFolder(), speedproof)).toBeNull()
})
