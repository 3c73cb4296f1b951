// Streams a trainer's output to its log file, raw, and to the live view, sanitised, with bounded memory.
import type { FileHandle } from 'node:fs/promises'
import { LineSplitter } from './line-splitter.ts'
import { LiveView } from './live-view.ts'

/** More is a broken training that would fill the runner's disk and the artifact. */
const MAX_LOG_BYTES = 256 * 1024 ** 2
/** Kept of what comes after: a traceback is at the end. */
const TAIL_BYTES = 64 * 1024

export class TrainerLog implements AsyncDisposable {
  readonly #file: FileHandle
  readonly #view: LiveView
  readonly #maxBytes: number
  #writtenBytes = 0
  #overflowBytes = 0
  #tail = Buffer.alloc(0)
  #writes: Promise<void> = Promise.resolve()
  #failure: string | undefined

  constructor(file: FileHandle, onLine: (line: string) => void, maxBytes = MAX_LOG_BYTES) {
    this.#file = file
    this.#view = new LiveView(onLine)
    this.#maxBytes = maxBytes
  }

  /** Reads the stream to its end. The next chunk is asked for when the last one is on disk. */
  async drain(stream: AsyncIterable<Buffer>): Promise<void> {
    const splitter = new LineSplitter((line) => this.#view.offer(line))
    for await (const chunk of stream) {
      splitter.push(chunk)
      await this.#enqueue(() => this.#store(chunk))
    }
    splitter.end()
  }

  /** Ends the file. Call it when every stream is drained. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#view.end()
    await this.#enqueue(() => this.#storeTail())
    await this.#file.close()
  }

  /** Two streams share the file: one write at a time. */
  #enqueue(write: () => Promise<void>): Promise<void> {
    this.#writes = this.#writes.then(write)
    return this.#writes
  }

  async #store(chunk: Buffer): Promise<void> {
    const fits = chunk.subarray(0, this.#maxBytes - this.#writtenBytes)
    await this.#write(fits)
    this.#writtenBytes += fits.length
    const rest = chunk.subarray(fits.length)
    this.#overflowBytes += rest.length
    if (rest.length > 0) this.#tail = Buffer.concat([this.#tail, rest]).subarray(-TAIL_BYTES)
  }

  async #storeTail(): Promise<void> {
    if (this.#overflowBytes === 0) return
    const dropped = this.#overflowBytes - this.#tail.length
    await this.#write(
      Buffer.from(`\n[speedproof: ${dropped} bytes dropped here, the log is limited to ${this.#maxBytes}]\n`),
    )
    await this.#write(this.#tail)
  }

  /** A full disk must not stop the training, nor the reading, without which the training would block. */
  async #write(bytes: Buffer): Promise<void> {
    if (this.#failure !== undefined) return
    try {
      await this.#file.appendFile(bytes)
    } catch (error) {
      this.#failure = String(error)
      this.#view.announce(`the log file cannot be written any more: ${this.#failure}`)
    }
  }
}
