// Building blocks of the files that people write: mappings that answer an unknown key, and settings by dotted key.
import { z } from 'zod'
import { knownKeys } from './explain.ts'

export function mapping<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, knownKeys(Object.keys(shape)))
}

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])

export const settings = z.record(
  z.string(),
  z.union([scalar, z.array(scalar)], { error: 'a string, a number, true, false, null or a list of them' }),
)

/** What is set in a trainer config, by dotted key. */
export type Settings = z.infer<typeof settings>
