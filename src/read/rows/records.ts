// A record with named values, such as a line of JSON or a row of a table -> the rows that it means, by the keys of the experiment.
import { shortened } from '../../text/wording.ts'
import { type MetricsProblem, problemAt } from '../event-problems.ts'
import type { StepTimes } from './declared.ts'
import type { Row } from './row.ts'

export interface SourceRecord {
  readonly where: string
  readonly characters: number
  readonly values: Readonly<Record<string, unknown>>
}

export interface RecordKeys {
  readonly step: string
  readonly val_loss: string
  readonly step_seconds?: string | undefined
  readonly time?: string | undefined
  readonly samples?: string | undefined
  readonly train_loss?: string | undefined
  readonly evaluation_seconds?: string | undefined
}

type Unit = 's' | 'ms' | 'us'
const SECONDS: Readonly<Record<Unit, number>> = { s: 1, ms: 1e-3, us: 1e-6 }

export interface Units {
  readonly step_seconds: Unit
  readonly evaluation_seconds: Unit
  readonly time: Unit
}

export interface Numbering {
  readonly first_step?: 0 | 1 | undefined
  readonly evaluation_first_step?: 0 | 1 | undefined
}

export interface RecordMeaning extends Numbering {
  readonly keys: RecordKeys
  /** More numbers of an evaluation, by the names that gates give them. */
  readonly evaluation: Readonly<Record<string, string>>
  readonly units: Units
}

export function timesOf({ step_seconds, time }: RecordKeys): StepTimes {
  if (step_seconds !== undefined) return 'read'
  return time === undefined ? 'unknown' : 'derived'
}

/** Thrown inside of one record: the first value that should be a number and is not. */
class NoNumber extends Error {
  readonly problem: MetricsProblem

  constructor(problem: MetricsProblem) {
    super(problem.message)
    this.problem = problem
  }
}

/** A record without any of the keys means nothing here. */
export function* rowsOf(record: SourceRecord, meaning: RecordMeaning): Generator<Row> {
  try {
    yield* meaningOf(record, meaning)
  } catch (error) {
    if (!(error instanceof NoNumber)) throw error
    yield { kind: 'problem', problem: error.problem }
  }
}

function* meaningOf(record: SourceRecord, meaning: RecordMeaning): Generator<Row> {
  const { keys, units } = meaning
  const place = { where: record.where, characters: record.characters }
  const valLoss = numberAt(record, keys.val_loss, 'val_loss')
  const stepSeconds = numberAt(record, keys.step_seconds, 'step_seconds')
  const trainLoss = numberAt(record, keys.train_loss, 'train_loss')
  const step = numberAt(record, keys.step, 'step')
  if (step === null) {
    if (valLoss === null && stepSeconds === null) return
    throw wrong(record, keys.step, 'step', 'is missing in a row with numbers of a step or an evaluation')
  }
  if (!Number.isSafeInteger(step))
    throw wrong(record, keys.step, 'step', `got ${step}, expected a whole number`)
  const first = meaning.first_step ?? 1
  const isStep =
    keys.step_seconds === undefined ? isStepByKeys(keys, trainLoss, valLoss) : stepSeconds !== null
  if (isStep)
    yield {
      kind: 'step',
      ...place,
      step: step + 1 - first,
      seconds: scaled(stepSeconds, units.step_seconds),
      time: scaled(numberAt(record, keys.time, 'time'), units.time),
      samples: numberAt(record, keys.samples, 'samples'),
      trainLoss,
    }
  if (valLoss === null) return
  yield {
    kind: 'evaluation',
    ...place,
    step: step + 1 - (meaning.evaluation_first_step ?? first),
    valLoss,
    ...furtherNumbers(record, meaning),
    seconds: scaled(
      numberAt(record, keys.evaluation_seconds, 'evaluation_seconds'),
      units.evaluation_seconds,
    ),
  }
}

/** Of a source without step seconds: an evaluation writes a row of its own. */
function isStepByKeys(keys: RecordKeys, trainLoss: number | null, valLoss: number | null): boolean {
  return keys.train_loss === undefined ? valLoss === null : trainLoss !== null
}

function furtherNumbers(record: SourceRecord, { evaluation }: RecordMeaning) {
  const metrics: [string, number][] = []
  const notFinite: string[] = []
  for (const [name, key] of Object.entries(evaluation)) {
    const found = numeric(valueAt(record.values, key))
    if (typeof found === 'number') metrics.push([name, found])
    else if (found === 'not-finite') notFinite.push(name)
    else if (found === 'none') throw wrong(record, key, name, 'is not a number')
  }
  return { metrics: Object.fromEntries(metrics), notFinite }
}

function scaled(value: number | null, unit: Unit): number | null {
  return value === null ? null : value * SECONDS[unit]
}

/** Null where it is absent. Throws for what is there and no finite number. */
function numberAt(record: SourceRecord, key: string | undefined, name: string): number | null {
  if (key === undefined) return null
  const value = valueAt(record.values, key)
  const found = numeric(value)
  if (found === 'absent') return null
  if (typeof found === 'number') return found
  if (value === null) throw wrong(record, key, name, `got null, expected a finite number; ${DIVERGED}`)
  if (found === 'none') throw wrong(record, key, name, `got ${shown(value)}, expected a number`)
  throw new NoNumber(notFinite(record.where, named(key, name), value))
}

function wrong({ where }: SourceRecord, key: string, name: string, reason: string): NoNumber {
  return new NoNumber(problemAt(where, 'malformed', `${named(key, name)}: ${reason}`))
}

/** Of a loss, and of any other number that is needed. */
export function notFinite(where: string, what: string, value: unknown): MetricsProblem {
  return problemAt(
    where,
    'not-finite',
    `${what}: got ${shown(value)}, which is no finite number; ${DIVERGED}`,
  )
}

const DIVERGED = 'check whether the training diverged. Where there is no number, leave the key out'

function named(key: string, name: string): string {
  return key === name ? name : `${name} (${shortened(key)})`
}

function shown(value: unknown): string {
  return shortened(JSON.stringify(value) ?? String(value))
}

/** A text may be a number: a table has nothing else. */
export function numeric(value: unknown): number | 'absent' | 'not-finite' | 'none' {
  if (value === undefined || value === '') return 'absent'
  if (value === null) return 'none'
  if (typeof value === 'number') return Number.isFinite(value) ? value : 'not-finite'
  if (typeof value !== 'string') return 'none'
  const text = value.trim()
  if (/^[+-]?(?:nan|inf|infinity)$/i.test(text)) return 'not-finite'
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return 'none'
  return Number.isFinite(Number(text)) ? Number(text) : 'not-finite'
}

/** By the key as it is, or by its parts between dots. */
function valueAt(values: Readonly<Record<string, unknown>>, key: string): unknown {
  if (Object.hasOwn(values, key)) return values[key]
  let value: unknown = values
  for (const part of key.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = Reflect.get(value, part)
  }
  return value
}
