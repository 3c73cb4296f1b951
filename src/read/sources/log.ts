// Reads what a training prints, by patterns with named groups. A pattern that matches no line is an error.
import { stripVTControlCharacters } from 'node:util'
import type { SourceOf } from '../../config/metrics.ts'
import { compiled } from '../../config/patterns.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import { problemAt } from '../event-problems.ts'
import type { Reader } from '../reader.ts'
import { factsOf, type StepTimes } from '../rows/declared.ts'
import { evaluationLines, LOG_FILE, NO_KEY, noMatch, PRINTED_FILE } from '../rows/evaluation-lines.ts'
import { liveEventOf } from '../rows/live.ts'
import { boundedLines, boundedLinesOf } from '../rows/log-lines.ts'
import { rowsOf } from '../rows/records.ts'
import type { Row } from '../rows/row.ts'
import { eventsOf } from '../rows/rows.ts'

type Source = SourceOf<'log'>
type Kind = keyof Source['patterns']

export function log(source: Source): Reader {
  const { groups } = compiled(source.patterns.step)
  const times: StepTimes = groups.includes('step_seconds') ? 'read' : 'unknown'
  const path = source.file === undefined ? LOG_FILE : `${TRAINER_FOLDER}/${source.file}`
  const name = path.split('/').at(-1) ?? path
  const match = matcherOf(source)
  return {
    name: source.format,
    title: name,
    facts: factsOf(source, times, groups.includes('samples')),
    files: [PRINTED_FILE],
    maxBytes: 64 * 1024 * 1024,
    liveFile: path.includes('*') ? null : path,
    liveEvent: (line) => liveEventOf(newestFirst(line, name, match), source),
    collected: { target: PRINTED_FILE, pattern: path, choice: 'only', converter: null },
    read: (content) => eventsOf(name, rowsIn(content(PRINTED_FILE), name, source, match), source, times),
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
    yield { kind: 'problem', problem: problemAt(name, 'malformed', noMatch(kind, pattern, name)) }
  }
}

/** A progress bar may be drawn many times before its line ends. */
function newestFirst(line: string, name: string, match: (line: string, where: string) => Matched): Row[] {
  return boundedLinesOf(line)
    .flatMap(({ text }) => [...match(text, name).rows])
    .reverse()
}

function matcherOf(source: Source) {
  const { patterns, units, first_step } = source
  const step = compiled(patterns.step)
  const evaluationsIn = evaluationLines(patterns.evaluation, source)
  const checkpoint = patterns.checkpoint === undefined ? null : compiled(patterns.checkpoint)
  const ofSteps = {
    units,
    first_step: first_step ?? 1,
    keys: {
      step: 'step',
      val_loss: NO_KEY,
      step_seconds: step.groups.includes('step_seconds') ? 'step_seconds' : undefined,
      samples: 'samples',
      train_loss: 'train_loss',
    },
    evaluation: {},
  }
  return (line: string, where: string): Matched => {
    const text = stripVTControlCharacters(line)
    const place = { where, characters: text.length }
    const kinds: Kind[] = []
    const rows: Row[] = []
    const [ofStep, ofEvaluation] = [step.exec(text), evaluationsIn(text, where)]
    if (ofStep) {
      kinds.push('step')
      rows.push(...rowsOf({ ...place, values: ofStep }, ofSteps))
    }
    if (ofEvaluation) {
      kinds.push('evaluation')
      rows.push(...ofEvaluation)
    }
    if (checkpoint?.test(text)) {
      kinds.push('checkpoint')
      rows.push({ kind: 'checkpoint', ...place })
    }
    return { kinds, rows }
  }
}
