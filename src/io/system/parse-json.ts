// Parses JSON that somebody else may have written or changed.
import { ConfigError, messageOf } from '../../errors.ts'
import { plainText } from './sanitize.ts'

/** A file of Speedproof; `expected`: the name such a file has. */
export function parseJson(text: string, file: string, expected: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // The message quotes the file.
    throw new ConfigError(
      `${file}: not JSON (${plainText(messageOf(error))}); expected a ${expected} of Speedproof. Restore it, or name another one`,
    )
  }
}

/** Undefined for what is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
