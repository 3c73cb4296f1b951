// Reads metrics.jsonl, which a trainer of the contract writes: one event a line, as JSON.
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import { problemAt, SEVERAL_WRITERS } from '../event-problems.ts'
import { metricsEvent } from '../events.ts'
import { ALL_REPORTED } from '../facts.ts'
import { parseJsonLine, withoutByteOrderMark } from '../json-line.ts'
import { linesOf } from '../lines.ts'
import type { Reader } from '../reader.ts'

const NAME = 'metrics.jsonl'
const FILE = `${TRAINER_FOLDER}/${NAME}`

const LINES = {
  missing: 'check whether the training diverged. Leave out an optional number that is missing',
  remedy: 'write only events into the file, and only from rank 0',
  cause: `cut off, or written by several ranks: ${SEVERAL_WRITERS}`,
}

export const speedproof: Reader = {
  name: 'speedproof',
  facts: ALL_REPORTED,
  files: [FILE],
  liveFile: FILE,
  // At 100 bytes a step this is 0.6 million steps, and a gated run has thousands.
  maxBytes: 64 * 1024 * 1024,

  async *read(source) {
    let number = 0
    for await (const text of linesOf(source(FILE))) {
      number += 1
      if (text.trim() === '') continue
      const where = `${NAME} line ${number}`
      const line = number === 1 ? withoutByteOrderMark(text) : text
      const parsed = parseJsonLine(line, LINES)
      if (parsed.status !== 'parsed') yield { problem: problemAt(where, parsed.status, parsed.reason) }
      else yield { where, event: parsed.json, characters: line.length }
    }
  },

  liveEvent(line) {
    const parsed = parseJsonLine(withoutByteOrderMark(line), LINES)
    return parsed.status === 'parsed' ? (metricsEvent.safeParse(parsed.json).data ?? null) : null
  },
}
