// Reads trainer_state.json of a Hugging Face Trainer: its evaluations, unrounded. It has no step seconds.
import type { SourceOf } from '../../config/metrics.ts'
import { isMapping } from '../../config/same-work/differences.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import { problemAt } from '../event-problems.ts'
import { parseForeignJson } from '../json-line.ts'
import type { Reader } from '../reader.ts'
import { factsOf } from '../rows/declared.ts'
import { numeric, rowsOf } from '../rows/records.ts'
import type { Row } from '../rows/row.ts'
import { eventsOf } from '../rows/rows.ts'

const NAME = 'trainer_state.json'
const FILE = 'source/state.json'
/** The text is parsed as one. */
const MAX_BYTES = 16 * 1024 * 1024

const WHOLE = {
  missing: 'check whether the training diverged',
  remedy: 'call trainer.save_state() after trainer.train()',
  cause: 'cut off',
}

/** Of an evaluation, and no quality of the model. */
const OF_SPEED =
  /_(?:runtime|samples_per_second|steps_per_second|jit_compilation_time|model_preparation_time)$/

export function huggingFace(source: SourceOf<'hugging-face'>): Reader {
  return {
    name: source.format,
    title: NAME,
    facts: factsOf(source, 'unknown', false),
    files: [FILE],
    maxBytes: MAX_BYTES,
    liveFile: null,
    liveEvent: () => null,
    // Each checkpoint has one, and save_state() writes the whole one above them.
    collected: {
      target: FILE,
      pattern: `${TRAINER_FOLDER}/${source.file ?? `**/${NAME}`}`,
      choice: 'highest',
      converter: null,
    },
    read: (content) => eventsOf(NAME, rowsIn(content(FILE), source.val_loss), source, 'unknown'),
  }
}

async function* rowsIn(pieces: AsyncIterable<Uint8Array>, valLoss: string): AsyncGenerator<Row> {
  const text = await textOf(pieces)
  const place = { where: NAME, characters: 0 }
  if (text.trim() === '') return
  const parsed = parseForeignJson(text, WHOLE)
  if (parsed.status !== 'parsed') {
    yield { kind: 'problem', problem: problemAt(NAME, parsed.status, parsed.reason) }
    return
  }
  const state = parsed.json
  if (!isMapping(state) || !Array.isArray(state.log_history) || typeof state.global_step !== 'number') {
    const reason = 'has no log_history and global_step; expected the state of a Hugging Face Trainer'
    yield { kind: 'problem', problem: problemAt(NAME, 'malformed', reason) }
    return
  }
  const { global_step: last, max_steps: planned, log_history: history } = state
  if (typeof planned === 'number' && planned > last) {
    const reason = `ends at step ${last} of ${planned}: it is of a checkpoint. Call trainer.save_state() after trainer.train()`
    yield { kind: 'problem', problem: problemAt(NAME, 'truncated', reason) }
  }
  for (const [index, entry] of history.entries()) {
    const where = `${NAME} log_history.${index}`
    if (isMapping(entry) && isOfEvaluation(entry, valLoss)) yield* evaluationRows(entry, valLoss, where)
  }
  yield { kind: 'length', ...place, steps: last }
}

function isOfEvaluation(entry: Readonly<Record<string, unknown>>, valLoss: string): boolean {
  return Object.hasOwn(entry, valLoss)
}

function evaluationRows(
  values: Readonly<Record<string, unknown>>,
  valLoss: string,
  where: string,
): Generator<Row> {
  const prefix = valLoss.replace(/loss$/, '')
  const others = Object.keys(values).filter(
    (key) => key.startsWith(prefix) && key !== valLoss && !OF_SPEED.test(key) && isNumber(values[key]),
  )
  return rowsOf(
    { where, characters: JSON.stringify(values).length, values },
    {
      keys: { step: 'step', val_loss: valLoss, evaluation_seconds: `${prefix}runtime` },
      evaluation: Object.fromEntries(others.map((key) => [key.slice(prefix.length), key])),
      units: { step_seconds: 's', evaluation_seconds: 's', time: 's' },
    },
  )
}

/** One that is not finite is text. */
function isNumber(value: unknown): boolean {
  return typeof value === 'number' || numeric(value) === 'not-finite'
}

/** Its caller bounds its length. */
async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of pieces) text += decoder.decode(piece, { stream: true })
  return text + decoder.decode()
}
