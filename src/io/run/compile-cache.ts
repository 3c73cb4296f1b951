// The compile caches of a launch: folders of torch and Triton for each variant, and what a launch found in them.
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { CompileCache } from '../../measure/outcome.ts'

/** torch and Triton compile into folders of their own below `directory`. */
export function cacheVariables(directory: string): Record<string, string> {
  return { TORCHINDUCTOR_CACHE_DIR: join(directory, 'inductor'), TRITON_CACHE_DIR: join(directory, 'triton') }
}

/** Compares what there was before a launch with what there is after it; call the result when it is over. */
export async function watchCache(directory: string): Promise<() => Promise<CompileCache>> {
  const before = await entriesIn(directory)
  return async () => {
    const after = await entriesIn(directory)
    const added = [...after].filter((entry) => !before.has(entry))
    if (added.length > 0) return 'cold'
    return before.size > 0 ? 'warm' : 'unused'
  }
}

/** Locks and temporary files are no compiled code. */
const NO_CODE = /(^|\/)(locks|tmp)\/|\.(lock|tmp)$/

async function entriesIn(directory: string): Promise<Set<string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(directory, join(parentPath, name)))
  return new Set(files.filter((file) => !NO_CODE.test(file)))
}
