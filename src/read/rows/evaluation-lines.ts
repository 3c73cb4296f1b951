// Lines that a training prints with each evaluation -> their rows, by a pattern with named groups.
import type { z } from 'zod'
import type { evaluationPattern } from '../../config/metrics.ts'
import { compiled, EVALUATION_GROUPS } from '../../config/patterns.ts'
import { rowsOf, type Units } from './records.ts'
import type { Row } from './row.ts'

/** A copy of what the run printed, since the log itself belongs to no reader. */
export const PRINTED_FILE = 'source/printed.txt'
export const LOG_FILE = 'log.txt'

interface Numbered {
  readonly units: Units
  readonly evaluation_first_step?: 0 | 1 | undefined
}

/** Of a line without colours; null where it matches no evaluation. */
export function evaluationLines(
  pattern: z.infer<typeof evaluationPattern>,
  { units, evaluation_first_step }: Numbered,
): (text: string, where: string) => Iterable<Row> | null {
  const expression = compiled(pattern)
  const others = expression.groups.filter((name) => !EVALUATION_GROUPS.includes(name))
  const meaning = {
    units,
    evaluation_first_step: evaluation_first_step ?? 1,
    // Without a key of steps, the line means an evaluation alone.
    keys: {
      step: 'step',
      val_loss: 'val_loss',
      step_seconds: NO_KEY,
      evaluation_seconds: 'evaluation_seconds',
    },
    evaluation: Object.fromEntries(others.map((name) => [name, name])),
  }
  return (text, where) => {
    const values = expression.exec(text)
    return values && rowsOf({ where, characters: text.length, values }, meaning)
  }
}

/** No group can have it for a name. */
export const NO_KEY = ''

/** What a pattern without a match means. */
export function noMatch(kind: string, pattern: string, name: string): string {
  return `no line matches metrics.patterns.${kind}: ${pattern}. Compare it with a line of ${name}, colours left out`
}
