// Reads the text files that a person writes, with an error that a person can act on.
import { isUtf8 } from 'node:buffer'
import { constants, open } from 'node:fs/promises'
import { ConfigError, messageOf } from '../../errors.ts'

/** An experiment file is a page; anything near this size is not one. */
const MAX_TEXT_BYTES = 1024 * 1024

export async function readText(path: string, name: string, maxBytes = MAX_TEXT_BYTES): Promise<string> {
  return textOf(await readBytes(path, name, maxBytes), name)
}

/** Throws a ConfigError for bytes that are no text in UTF-8. */
export function textOf(bytes: Buffer, name: string): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  throw new ConfigError(
    `${name}, line ${firstBadLine(bytes)}: has bytes that are not UTF-8, expected a text file in UTF-8; save it as UTF-8`,
  )
}

/** Of a trainer: bytes that are not UTF-8 become U+FFFD; the reader of the lines judges them. */
export async function readOutput(path: string, maxBytes: number): Promise<string> {
  return (await readBytes(path, path, maxBytes)).toString('utf8')
}

/** No character of more than one byte has a line feed in it. */
function firstBadLine(bytes: Buffer): number {
  let [line, start] = [1, 0]
  for (let end = bytes.indexOf('\n'); end !== -1 && isUtf8(bytes.subarray(start, end)); line += 1) {
    start = end + 1
    end = bytes.indexOf('\n', start)
  }
  return line
}

/** Throws a ConfigError that names the file. */
export async function readBytes(path: string, name: string, maxBytes = MAX_TEXT_BYTES): Promise<Buffer> {
  try {
    // Without O_NONBLOCK, opening a pipe waits for its writer, which may never come.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const status = await file.stat()
    if (status.isDirectory()) throw new ConfigError(`${name}: is a folder; name a file in it`)
    if (!status.isFile()) throw new ConfigError(`${name}: is not a regular file; expected a text file`)
    if (status.size > maxBytes) {
      throw new ConfigError(`${name}: has ${status.size} bytes, expected a text file of at most ${maxBytes}`)
    }
    return await file.readFile()
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(
      `${name}: cannot be read (${messageOf(error)}); paths are relative to the working directory`,
    )
  }
}
