// Parses JSON that somebody else may have written: what is too deep, too long or too much is refused before it is parsed.

export interface JsonLimits {
  /** Of lists and mappings in each other: values are compared and printed by recursion. */
  readonly depth: number
  readonly characters: number
  /** Of one text in it. */
  readonly textCharacters: number
  /** Lists and mappings, which take many times their two characters in memory. */
  readonly nests: number
  /** Of everything, since zod collects an error for each value that is wrong. */
  readonly values: number
}

/** Of a line that a trainer writes: a window of a million steps with all its columns. */
export const LINE_LIMITS: JsonLimits = {
  depth: 100,
  characters: 64 * 1024 ** 2,
  textCharacters: 2 * 1024 ** 2,
  nests: 200_000,
  values: 8_000_000,
}

/** Of a whole record, such as result.json: one of 500 launches has some 20,000 nests and 100,000 values. */
export const RECORD_LIMITS: JsonLimits = {
  depth: 128,
  characters: 32 * 1024 ** 2,
  textCharacters: 256 * 1024,
  nests: 200_000,
  values: 500_000,
}

/** The message reads as what the text does, such as `has more than 10 characters`. */
export class JsonLimitError extends Error {}

/** Throws a JsonLimitError for what is too large, and a SyntaxError for what is no JSON. */
export function parseBounded(text: string, limits: JsonLimits): unknown {
  const excess = excessOf(text, limits)
  if (excess !== null) throw new JsonLimitError(excess)
  return JSON.parse(text)
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_LIST, CLOSE_LIST, OPEN_MAPPING, CLOSE_MAPPING] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Of text that is no JSON, as far as it looks like some. */
function excessOf(text: string, limits: JsonLimits): string | null {
  if (text.length > limits.characters) return `has more than ${limits.characters} characters`
  let [depth, nests, values] = [0, 0, 1]
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const start = at
      at = endOfText(text, at)
      if (at - start > limits.textCharacters)
        return `has a text of more than ${limits.textCharacters} characters`
    } else if (code === OPEN_LIST || code === OPEN_MAPPING) {
      depth += 1
      nests += 1
      if (depth > limits.depth)
        return `nests lists or mappings more than ${limits.depth} deep; leave out what no gate uses`
      if (nests > limits.nests) return `has more than ${limits.nests} lists and mappings`
    } else if (code === CLOSE_LIST || code === CLOSE_MAPPING) depth -= 1
    else if (code === COMMA) {
      values += 1
      if (values > limits.values) return `has more than ${limits.values} values`
    }
  }
  return null
}

/** The place of its closing quote, or the end of what is cut off. */
function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    at += code === BACKSLASH ? 2 : 1
  }
  return at
}
