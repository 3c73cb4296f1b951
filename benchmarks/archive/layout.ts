// Where the records lie: packed in benchmarks/records, unpacked in out/records under the same names.
import { globSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')
export const PACKED = join(ROOT, 'benchmarks', 'records')
export const UNPACKED = join(ROOT, 'out', 'records')
export const ENDING = '.tar.zst'

/** Names of all records, such as `gate/two-task-1gpu`: its archive without the ending. */
export function recordNames(): string[] {
  return globSync(`**/*${ENDING}`, { cwd: PACKED })
    .map((file) => file.slice(0, -ENDING.length))
    .toSorted()
}
