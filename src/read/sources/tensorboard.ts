// Reads what the converter has made of TensorBoard's event files: one scalar a line, with its tag, step and clock time.
import type { SourceOf } from '../../config/metrics.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import { problemAt } from '../event-problems.ts'
import type { Reader } from '../reader.ts'
import { factsOf, type StepTimes } from '../rows/declared.ts'
import { jsonRecords } from '../rows/json-records.ts'
import { type RecordMeaning, rowsOf, type SourceRecord } from '../rows/records.ts'
import type { Row } from '../rows/row.ts'
import { eventsOf } from '../rows/rows.ts'

const NAME = 'scalars.jsonl'
const FILE = `source/${NAME}`

/** Of our own converter's lines. */
const TIME = 'wall_time'
const STEP = 'step'

export function tensorboard(source: SourceOf<'tensorboard'>): Reader {
  const { step_seconds: stepSeconds, samples } = source.keys
  const times: StepTimes = stepSeconds === undefined ? 'derived' : 'read'
  const meaning: RecordMeaning = {
    ...source,
    keys: { ...source.keys, step: STEP, time: times === 'derived' ? TIME : undefined },
  }
  return {
    name: source.format,
    title: NAME,
    facts: factsOf(source, times, samples !== undefined),
    files: [FILE],
    maxBytes: 64 * 1024 * 1024,
    liveFile: null,
    liveEvent: () => null,
    collected: { target: FILE, pattern: TRAINER_FOLDER, choice: 'only', converter: 'tensorboard' },
    read: (content) => eventsOf(NAME, rowsIn(content(FILE), meaning), source, times),
  }
}

/** Scalars of one step come one after the other, and mean one row together. */
async function* rowsIn(pieces: AsyncIterable<Uint8Array>, meaning: RecordMeaning): AsyncGenerator<Row> {
  const tags = tagsOf(meaning)
  const seen = new Set<string>()
  let hasScalars = false
  let open: SourceRecord | null = null
  for await (const record of jsonRecords(NAME, pieces)) {
    if ('problem' in record) {
      yield { kind: 'problem', problem: record.problem }
      continue
    }
    hasScalars = true
    const { tag, step, wall_time: time, value } = record.values
    if (tag === null && typeof time === 'number') {
      yield { kind: 'begin', time, where: record.where, characters: record.characters }
      continue
    }
    if (typeof tag !== 'string' || !tags.includes(tag)) continue
    seen.add(tag)
    if (open !== null && (open.values[STEP] !== step || Object.hasOwn(open.values, tag))) {
      yield* rowsOf(open, meaning)
      open = null
    }
    const before: Readonly<Record<string, unknown>> = open?.values ?? { [STEP]: step, [TIME]: time }
    open = {
      where: record.where,
      characters: record.characters,
      values: { ...before, [tag]: value },
    }
  }
  if (open !== null) yield* rowsOf(open, meaning)
  if (!hasScalars) return
  const { keys } = meaning
  const missing = [keys.val_loss, keys.step_seconds ?? keys.train_loss, keys.samples].find(
    (tag) => tag !== undefined && !seen.has(tag),
  )
  if (missing !== undefined)
    yield {
      kind: 'problem',
      problem: problemAt(
        NAME,
        'malformed',
        `has no scalar ${missing}; write it, or name another tag under metrics.keys`,
      ),
    }
}

function tagsOf({ keys, evaluation }: RecordMeaning): string[] {
  const { step: _, time: __, ...tags } = keys
  return [...Object.values(tags), ...Object.values(evaluation)].filter((tag) => tag !== undefined)
}
