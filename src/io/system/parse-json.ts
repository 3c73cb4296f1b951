// Parses JSON that somebody else may have written or changed.
import { ConfigError, messageOf } from '../../errors.ts'
import { JsonLimitError, type JsonLimits, parseBounded, RECORD_LIMITS } from '../../text/bounded-json.ts'
import { plainText } from './sanitize.ts'

/** A file of Speedproof; `expected`: the name such a file has. */
export function parseJson(
  text: string,
  file: string,
  expected: string,
  limits: JsonLimits = RECORD_LIMITS,
): unknown {
  try {
    return parseBounded(text, limits)
  } catch (error) {
    if (error instanceof JsonLimitError)
      throw new ConfigError(`${file}: ${error.message}; expected a ${expected} of Speedproof`)
    // The message quotes the file.
    throw new ConfigError(
      `${file}: not JSON (${plainText(messageOf(error))}); expected a ${expected} of Speedproof. Restore it, or name another one`,
    )
  }
}

/** Undefined for what is not JSON, or too large. */
export function tryParseJson(text: string): unknown {
  try {
    return parseBounded(text, RECORD_LIMITS)
  } catch {
    return undefined
  }
}
