// Follows a file that another process writes, line by line, with bounded memory.
import { constants, type FileHandle, open } from 'node:fs/promises'

/** A longer line is no event of a trainer; it is skipped. */
const MAX_LINE_BYTES = 1024 ** 2
const MAX_BYTES_PER_READ = 4 * MAX_LINE_BYTES
const LINE_FEED = 0x0a

export class FileTail {
  #offset = 0
  #inode = 0
  #isSkipping = false
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /**
   * The complete lines since the last call, at most 4 MiB of them; what is left over comes with the next
   * call. A file that is absent or unreadable has no lines: this is for progress; the judge says what is
   * wrong with the file. A file that shrank or was replaced is read from its start.
   */
  async read(): Promise<string[]> {
    const file = await openRegularFile(this.#path)
    if (file === undefined) return []
    try {
      return await this.#readFrom(file)
    } finally {
      await file.close()
    }
  }

  async #readFrom(file: FileHandle): Promise<string[]> {
    const { ino, size } = await file.stat()
    if (ino !== this.#inode || size < this.#offset) {
      this.#offset = 0
      this.#isSkipping = false
    }
    this.#inode = ino
    const wanted = Math.min(size - this.#offset, MAX_BYTES_PER_READ)
    const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted), 0, wanted, this.#offset)
    return this.#takeLines(buffer.subarray(0, bytesRead))
  }

  /** Moves the offset past the last complete line only, so a half-written one is read again. */
  #takeLines(bytes: Buffer): string[] {
    const lines: string[] = []
    let start = 0
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      const isSkipped = this.#isSkipping || end - start > MAX_LINE_BYTES
      if (!isSkipped) lines.push(bytes.toString('utf8', start, end))
      this.#isSkipping = false
      start = end + 1
    }
    if (bytes.length - start > MAX_LINE_BYTES) this.#isSkipping = true
    this.#offset += this.#isSkipping ? bytes.length : start
    return lines
  }
}

/** Undefined for anything else: opening a pipe could block for ever. */
async function openRegularFile(path: string): Promise<FileHandle | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  if (file === undefined || (await file.stat()).isFile()) return file
  await file.close()
  return undefined
}
