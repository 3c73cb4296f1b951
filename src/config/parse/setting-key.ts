// The dotted key of a setting -> the keys that lead to it: model.width, or "a.b".c for a key that has a dot in it.
import { ConfigError } from '../../errors.ts'
import { isUnusable, unusableText } from './yaml.ts'

const PART = /(?:"((?:[^"\\]|\\["\\])+)"|([^".]+))(\.(?!$)|$)/y

/** Throws a ConfigError for a key with an empty part or an open quote. */
export function keyPath(key: string): string[] {
  const path: string[] = []
  for (let end = 0; end < key.length || path.length === 0; ) {
    PART.lastIndex = end
    const [all, quoted, plain] = PART.exec(key) ?? []
    if (all === undefined)
      throw new ConfigError(
        `got the key ${JSON.stringify(key)}, expected names with a dot between them, such as model.width. Put a name that has a dot in double quotes: '"a.b".c'`,
      )
    const name = plain ?? quoted?.replaceAll(/\\(["\\])/g, '$1') ?? ''
    if (isUnusable(name)) throw new ConfigError(unusableText(key))
    path.push(name)
    end += all.length
  }
  return path
}
