// Reads what a training prints, by patterns with named groups. A pattern that matches no line is an error.
import { stripVTControlCharacters } from 'node:util'
import type { SourceOf } from '../../config/metrics.ts'
import { compiled, EVALUATION_GROUPS, groupsOf } from '../../config/patterns.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import { problemAt } from '../event-problems.ts'
import type { Reader } from '../reader.ts'
import { factsOf, type StepTimes } from '../rows/declared.ts'
import { liveEventOf } from '../rows/live.ts'
import { boundedLines } from '../rows/log-lines.ts'
import { rowsOf } from '../rows/records.ts'
import type { Row } from '../rows/row.ts'
import { eventsOf } from '../rows/rows.ts'

/** A copy of what the run printed, since the log itself belongs to no reader. */
const FILE = 'source/printed.txt'

type Source = SourceOf<'log'>
type Kind = keyof Source['patterns']

export function log(source: Source): Reader {
  const groups = groupsOf(source.patterns.step)
  const times: StepTimes = groups.includes('step_seconds') ? 'read' : 'unknown'
  const path = source.file === undefined ? 'log.txt' : `${TRAINER_FOLDER}/${source.file}`
  const name = path.split('/').at(-1) ?? path
  const match = matcherOf(source)
  return {
    name: source.format,
    title: name,
    facts: factsOf(source, times, groups.includes('samples')),
    files: [FILE],
    maxBytes: 64 * 1024 * 1024,
    liveFile: path.includes('*') ? null : path,
    liveEvent: (line) => liveEventOf(match(line, name).rows, source),
    collected: { pattern: path, choice: 'only', converter: null },
    read: (content) => eventsOf(name, rowsIn(content(FILE), name, source, match), source, times),
  }
}

interface Matched {
  readonly kinds: readonly Kind[]
  readonly rows: Iterable<Row>
}

async function* rowsIn(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
  { patterns }: Source,
  match: (line: string, where: string) => Matched,
): AsyncGenerator<Row> {
  const seen = new Set<Kind>()
  let hasText = false
  for await (const { text, number } of boundedLines(pieces)) {
    hasText ||= text.trim() !== ''
    const { kinds, rows } = match(text, `${name} line ${number}`)
    for (const kind of kinds) seen.add(kind)
    yield* rows
  }
  if (!hasText) return
  for (const kind of ['step', 'evaluation', 'checkpoint'] as const) {
    const pattern = patterns[kind]
    if (pattern === undefined || seen.has(kind)) continue
    const reason = `no line matches metrics.patterns.${kind}: ${pattern}. Compare it with a line of ${name}, colours left out`
    yield { kind: 'problem', problem: problemAt(name, 'malformed', reason) }
  }
}

function matcherOf({ patterns, units, first_step, evaluation_first_step }: Source) {
  const [step, evaluation] = [compiled(patterns.step), compiled(patterns.evaluation)]
  const checkpoint = patterns.checkpoint === undefined ? null : compiled(patterns.checkpoint)
  const others = groupsOf(patterns.evaluation).filter((name) => !EVALUATION_GROUPS.includes(name))
  const shared = { units, first_step: first_step ?? 1, evaluation_first_step: evaluation_first_step ?? 1 }
  const ofSteps = {
    ...shared,
    keys: {
      step: 'step',
      val_loss: NO_KEY,
      step_seconds: groupsOf(patterns.step).includes('step_seconds') ? 'step_seconds' : undefined,
      samples: 'samples',
      train_loss: 'train_loss',
    },
    evaluation: {},
  }
  const ofEvaluations = {
    ...shared,
    // The key of the other kind of line, so that this one is no step.
    keys: {
      step: 'step',
      val_loss: 'val_loss',
      step_seconds: NO_KEY,
      evaluation_seconds: 'evaluation_seconds',
    },
    evaluation: Object.fromEntries(others.map((name) => [name, name])),
  }
  return (line: string, where: string): Matched => {
    const text = stripVTControlCharacters(line)
    const place = { where, characters: text.length }
    const kinds: Kind[] = []
    const rows: Row[] = []
    const [ofStep, ofEvaluation] = [step.exec(text), evaluation.exec(text)]
    if (ofStep) {
      kinds.push('step')
      rows.push(...rowsOf({ ...place, values: presentIn(ofStep) }, ofSteps))
    }
    if (ofEvaluation) {
      kinds.push('evaluation')
      rows.push(...rowsOf({ ...place, values: presentIn(ofEvaluation) }, ofEvaluations))
    }
    if (checkpoint?.test(text)) {
      kinds.push('checkpoint')
      rows.push({ kind: 'checkpoint', ...place })
    }
    return { kinds, rows }
  }
}

/** No group can have it for a name. */
const NO_KEY = ''

/** A group may be optional in its pattern. */
function presentIn({ groups = {} }: RegExpExecArray): Record<string, unknown> {
  return Object.fromEntries(Object.entries(groups).filter(([, text]) => text !== undefined))
}
