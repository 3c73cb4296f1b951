// Any source of metrics goes through one seam: a reader knows its format, and its events are checked as all others are.

import { globSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readRunMetrics } from '../../src/io/load/read-run-files.ts'
import { ALL_REPORTED } from '../../src/read/facts.ts'
import { linesOf, piecesOf } from '../../src/read/lines.ts'
import { readMetrics } from '../../src/read/read-metrics.ts'
import type { Reader } from '../../src/read/reader.ts'
import { READERS } from '../../src/read/readers.ts'
import { metricsEvents } from '../fixtures/builders.ts'
import { aFolder, ROOT } from '../fixtures/processes/launching.ts'

/** Rows of `seconds,samples,loss`, one per step; the last loss is the held-out one. The rest is made up. */
const table: Reader = {
  name: 'table',
  files: ['trainer/steps.csv'],
  facts: ALL_REPORTED,
  maxBytes: 1000,
  async *read(source) {
    const [start] = metricsEvents()
    const end = metricsEvents().at(-1)
    yield { where: 'steps.csv', event: start, characters: 0 }
    let [row, samples, loss] = [0, 0, 0]
    for await (const line of linesOf(source('trainer/steps.csv'))) {
      row += 1
      const where = `steps.csv row ${row}`
      const numbers = line.split(',').map(Number)
      const [seconds = 0, count = 0, after = 0] = numbers
      if (numbers.length !== 3) {
        yield { problem: { kind: 'malformed', message: `${where}: got ${line}, expected three numbers` } }
        return
      }
      samples += count
      loss = after
      const columns = { step_seconds: [seconds], samples: [count], train_loss: [after] }
      yield { where, event: { event: 'steps', first_step: row, ...columns }, characters: line.length }
    }
    const evaluation = { event: 'evaluation', step: row, samples_seen: samples, val_loss: loss }
    yield { where: 'steps.csv', event: evaluation, characters: 0 }
    yield { where: 'steps.csv', event: { ...end, samples, attempted_updates: row }, characters: 0 }
  },
  liveFile: null,
  liveEvent: () => null,
}

const readTable = (...rows: string[]) => readMetrics(table, () => piecesOf(rows))

test('a reader of another format gives the same kind of record', async () => {
  const { problem, steps, evaluations } = await readTable('0.5,16,0.9', '0.4,16,0.8')
  expect(problem).toBeNull()
  expect(steps).toMatchObject({ seconds: [0.5, 0.4], samples: [16, 16], trainLoss: [0.9, 0.8] })
  expect(evaluations).toMatchObject([{ step: 2, samples_seen: 32, val_loss: 0.8 }])
})

test('its format is its own affair, and its events are checked with their place', async () => {
  expect((await readTable('0.5,16,0.9', 'step 2')).problem).toEqual({
    kind: 'malformed',
    message: 'steps.csv row 2: got step 2, expected three numbers',
  })
  expect((await readTable('0.5,16,0.9', '-29,16,0.8')).problem).toEqual({
    kind: 'malformed',
    message: 'steps.csv row 2: step_seconds.0: got -29, expected at least 1e-9',
  })
  expect((await readTable()).problem).toEqual({
    kind: 'malformed',
    message: 'steps.csv has no steps event',
  })
})

test('its file is opened as that of any reader: absent and too large are told alike', async () => {
  const folder = await aFolder()
  await mkdir(join(folder, 'trainer'))
  expect((await readRunMetrics(folder, table)).problem).toMatchObject({ kind: 'absent' })
  await writeFile(join(folder, 'trainer', 'steps.csv'), '0.5,16,0.9\n')
  expect((await readRunMetrics(folder, table)).problem).toBeNull()
  await writeFile(join(folder, 'trainer', 'steps.csv'), '0.5,16,0.9\n'.repeat(100))
  expect((await readRunMetrics(folder, table)).problem).toMatchObject({ kind: 'too-large' })
})

test('outside of src/read no code names a file that a reader reads', () => {
  const names = READERS.flatMap(({ files }) => files.map((file) => file.split('/').at(-1) ?? ''))
  expect(names).toContain('metrics.jsonl')
  const others = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/read/**'] })
  const naming = others.filter((file) => {
    const code = readFileSync(join(ROOT, file), 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '')
    return names.some((name) => code.includes(name))
  })
  expect(naming).toEqual([])
})
