// Reads a trainer's own file of JSON lines, by the keys that the experiment names.
import { basename } from 'node:path'
import type { SourceOf } from '../../config/metrics.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import type { Reader } from '../reader.ts'
import { factsOf } from '../rows/declared.ts'
import { jsonRecord, jsonRecords } from '../rows/json-records.ts'
import { liveEventOf } from '../rows/live.ts'
import { type RecordMeaning, rowsOf, timesOf } from '../rows/records.ts'
import type { Row } from '../rows/row.ts'
import { eventsOf } from '../rows/rows.ts'

const FILE = 'source/rows.jsonl'

export function jsonl(source: SourceOf<'jsonl'>): Reader {
  return {
    ...ofRecords(source, FILE, basename(source.file)),
    name: source.format,
    // A pattern is not known before the file is there.
    liveFile: source.file.includes('*') ? null : `${TRAINER_FOLDER}/${source.file}`,
    collected: { target: FILE, pattern: `${TRAINER_FOLDER}/${source.file}`, choice: 'only', converter: null },
  }
}

/** What all sources share that come to us as one record a line; `name`: of the source, as problems name it. */
export function ofRecords(
  source: RecordMeaning & Parameters<typeof factsOf>[0],
  file: string,
  name: string,
): Omit<Reader, 'name' | 'liveFile' | 'collected'> {
  const times = timesOf(source.keys)
  return {
    title: name,
    facts: factsOf(source, times, source.keys.samples !== undefined),
    files: [file],
    maxBytes: 64 * 1024 * 1024,
    read: (content) => eventsOf(name, rowsIn(content(file), name, source), source, times),
    liveEvent(line) {
      const record = jsonRecord(line, name)
      return 'problem' in record ? null : liveEventOf(rowsOf(record, source), source)
    },
  }
}

async function* rowsIn(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
  meaning: RecordMeaning,
): AsyncGenerator<Row> {
  for await (const record of jsonRecords(name, pieces)) {
    if ('problem' in record) yield { kind: 'problem', problem: record.problem }
    else yield* rowsOf(record, meaning)
  }
}
