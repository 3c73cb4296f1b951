// Cuts a stream of bytes into lines at \n, \r\n and lone \r, holding no more than the start of one line.

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
/** Room for a line's visible characters and its escape sequences; a line may be gigabytes long. */
const MAX_LINE_BYTES = 4096

export interface RawLine {
  bytes: Buffer
  wasCut: boolean
}

/** Works on bytes: neither break occurs inside a UTF-8 sequence, so invalid ones do no harm. */
export class LineSplitter {
  #partial = Buffer.alloc(0)
  #wasCut = false
  #isAfterCarriageReturn = false
  readonly #onLine: (line: RawLine) => void

  constructor(onLine: (line: RawLine) => void) {
    this.#onLine = onLine
  }

  push(chunk: Buffer): void {
    let start = 0
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index]
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) continue
      const isSecondHalf = byte === LINE_FEED && index === start && this.#isRightAfterCarriageReturn()
      if (!isSecondHalf) this.#endLine(chunk.subarray(start, index))
      this.#isAfterCarriageReturn = byte === CARRIAGE_RETURN
      start = index + 1
    }
    this.#hold(chunk.subarray(start))
  }

  /** Gives out a last line that no break ended. */
  end(): void {
    if (this.#partial.length > 0) this.#endLine(Buffer.alloc(0))
  }

  #isRightAfterCarriageReturn(): boolean {
    return this.#isAfterCarriageReturn && this.#partial.length === 0
  }

  #endLine(last: Buffer): void {
    // Nothing to join: of a training that prints millions of short lines, a copy of each would take a whole core.
    if (this.#partial.length === 0 && !this.#wasCut && last.length <= MAX_LINE_BYTES) {
      this.#onLine({ bytes: last, wasCut: false })
      return
    }
    this.#hold(last)
    const line = { bytes: this.#partial, wasCut: this.#wasCut }
    this.#partial = Buffer.alloc(0)
    this.#wasCut = false
    this.#onLine(line)
  }

  #hold(bytes: Buffer): void {
    const room = MAX_LINE_BYTES - this.#partial.length
    if (bytes.length > room) this.#wasCut = true
    // A copy: a slice would keep the whole chunk alive.
    if (bytes.length > 0 && room > 0) this.#partial = Buffer.concat([this.#partial, bytes.subarray(0, room)])
  }
}
