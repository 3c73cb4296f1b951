// Reads the text files that a person writes, with an error that a person can act on.
import { constants, open } from 'node:fs/promises'
import { ConfigError } from '../errors.ts'
import { messageOf } from './error-message.ts'

/** An experiment file is a page; anything near this size is not one. */
const MAX_TEXT_BYTES = 1024 * 1024

export async function readText(path: string, name: string, maxBytes = MAX_TEXT_BYTES): Promise<string> {
  try {
    // Without O_NONBLOCK, opening a pipe waits for its writer, which may never come.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const status = await file.stat()
    if (!status.isFile()) throw new ConfigError(`${name}: is not a regular file; expected a text file`)
    if (status.size > maxBytes) {
      throw new ConfigError(`${name}: has ${status.size} bytes, expected a text file of at most ${maxBytes}`)
    }
    return await file.readFile('utf8')
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(
      `${name}: cannot be read (${messageOf(error)}); paths are relative to the working directory`,
    )
  }
}
