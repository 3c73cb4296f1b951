// Pieces of a text file -> its lines, in bounded memory and time.

/** Of 64 MB, lines have 16 characters each: more are blank ones, or were never meant to be read. */
export const MOST_LINES = 4_000_000

/**
 * Without their ends, which are \n alone: node:readline takes U+2028 and U+2029 for ends too, which texts in JSON may
 * hold as they are. The last line may be unterminated. Throws for more than MOST_LINES.
 */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let [last, count] = ['', 0]
  for await (const piece of pieces) {
    const [first = '', ...others] = decoder.decode(piece, { stream: true }).split('\n')
    last += first
    count += others.length
    if (count > MOST_LINES) throw new Error(`more than ${MOST_LINES} lines`)
    for (const line of others) {
      yield last
      last = line
    }
  }
  last += decoder.decode()
  if (last !== '') yield last
}

/** The other way round, for lines that are kept in a record. */
export async function* piecesOf(lines: readonly string[]): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(lines.join('\n'))
}
