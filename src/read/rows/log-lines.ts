// Pieces of what a program printed -> its lines as a person saw them, each bounded, since patterns are tried on them.

import { MOST_LINES } from '../lines.ts'

/** Of a longer line the rest is dropped: a pattern can take long on it. */
const MAX_CHARACTERS = 2000

export interface PrintedLine {
  readonly text: string
  /** As an editor counts: a progress bar that is drawn again stays on its line. */
  readonly number: number
}

/** Their ends are \n, \r\n, and \r alone, by which a progress bar is drawn again. Throws for more than MOST_LINES. */
export async function* boundedLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<PrintedLine> {
  const decoder = new TextDecoder()
  let [number, held, count] = [1, '', 0]
  for await (const piece of pieces) {
    const text = decoder.decode(piece, { stream: true })
    let start = 0
    for (const end of text.matchAll(/[\r\n]/g)) {
      held = cut(held, text, start, end.index)
      if (held !== '') {
        count += 1
        if (count > MOST_LINES) throw new Error(`more than ${MOST_LINES} lines`)
        yield { text: held, number }
      }
      held = ''
      if (end[0] === '\n') number += 1
      start = end.index + 1
    }
    held = cut(held, text, start, text.length)
  }
  if (held !== '') yield { text: held, number }
}

function cut(held: string, text: string, start: number, end: number): string {
  const room = MAX_CHARACTERS - held.length
  return room > 0 ? held + text.slice(start, Math.min(end, start + room)) : held
}
