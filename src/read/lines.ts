// Pieces of a text file -> its lines, in bounded memory.

/**
 * Without their ends, which are \n alone: node:readline takes U+2028 and U+2029 for ends too, which texts in JSON may
 * hold as they are. The last line may be unterminated.
 */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let last = ''
  for await (const piece of pieces) {
    const [first = '', ...others] = decoder.decode(piece, { stream: true }).split('\n')
    last += first
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
