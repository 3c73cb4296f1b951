// What a program printed -> its lines as a person saw them, each bounded, since patterns are tried on them.

import { MOST_LINES } from '../lines.ts'

/** Of a longer line the rest is dropped: a pattern can take long on it. */
const MAX_CHARACTERS = 2000

export interface PrintedLine {
  readonly text: string
  /** As an editor counts: a progress bar that is drawn again stays on its line. */
  readonly number: number
}

/** Throws for more than MOST_LINES. */
export async function* boundedLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<PrintedLine> {
  const decoder = new TextDecoder()
  const lines = new BoundedLines()
  for await (const piece of pieces) yield* lines.add(decoder.decode(piece, { stream: true }))
  yield* lines.end()
}

export function boundedLinesOf(text: string): PrintedLine[] {
  const lines = new BoundedLines()
  return [...lines.add(text), ...lines.end()]
}

/** Their ends are \n, \r\n, and \r alone, by which a progress bar is drawn again. */
class BoundedLines {
  #number = 1
  #count = 0
  #held = ''

  add(text: string): PrintedLine[] {
    const ended: PrintedLine[] = []
    let start = 0
    for (const end of text.matchAll(/[\r\n]/g)) {
      this.#hold(text, start, end.index)
      ended.push(...this.end())
      if (end[0] === '\n') this.#number += 1
      start = end.index + 1
    }
    this.#hold(text, start, text.length)
    return ended
  }

  end(): PrintedLine[] {
    const text = this.#held
    this.#held = ''
    if (text === '') return []
    this.#count += 1
    if (this.#count > MOST_LINES) throw new Error(`more than ${MOST_LINES} lines`)
    return [{ text, number: this.#number }]
  }

  #hold(text: string, start: number, end: number): void {
    const room = MAX_CHARACTERS - this.#held.length
    if (room > 0) this.#held += text.slice(start, Math.min(end, start + room))
  }
}
