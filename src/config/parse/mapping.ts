// Building blocks of the files that people write: mappings that answer an unknown key, and settings by dotted key.
import { z } from 'zod'
import { knownKeys } from './explain.ts'

export function mapping<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, knownKeys(Object.keys(shape)))
}

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])

export type SettingValue =
  | z.infer<typeof scalar>
  | readonly SettingValue[]
  | { readonly [key: string]: SettingValue }

const settingValue: z.ZodType<SettingValue> = z.lazy(() =>
  z.union([scalar, z.array(settingValue), z.record(z.string(), settingValue)], {
    error: 'a string, a number, true, false, null, or a list or mapping of them',
  }),
)

export const settings = z.record(z.string(), settingValue)

/** What is set in a trainer config, by dotted key. */
export type Settings = z.infer<typeof settings>
