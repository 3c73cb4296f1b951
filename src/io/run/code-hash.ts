// One hash over the sources of a trainer, so that a change to them between two launches does not go unnoticed.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { CodeHashes } from '../../measure/outcome.ts'
import type { Program } from '../../plan/program.ts'

/** Python, and what extensions are compiled from; a trainer's data and notes may change meanwhile. */
const SOURCE = /\.(pyi?|c|cc|cpp|cu|cuh|h|hpp)$/

/** Environments and results hold thousands of sources that are not the trainer's. */
const FOREIGN = new Set(['__pycache__', 'node_modules'])

const MAX_NAMED = 3

/** Hashes of the trainer's sources, by their paths in the working directory. */
export type SourceHashes = ReadonlyMap<string, string>

/** Null for a trainer that is not below the working directory, such as an installed one. */
export async function hashSources(
  { module, script }: Program,
  workingDirectory: string,
  resultsDirectory: string,
): Promise<SourceHashes | null> {
  if (script === undefined && module === undefined) return null
  const root =
    script === undefined ? packageOf(module ?? '', workingDirectory) : resolve(workingDirectory, script)
  if (root === null) return null
  const beside = script === undefined ? [] : await besideScript(root, resultsDirectory)
  const files = SOURCE.test(root) ? [root, ...beside] : await sourcesIn(root, resultsDirectory, [])
  const hashes = new Map<string, string>()
  for (const file of [...new Set(files)].sort())
    hashes.set(relative(workingDirectory, file), await contentHash(file))
  return hashes
}

export function hashCode(sources: SourceHashes): string {
  const hash = createHash('sha256')
  for (const [file, content] of sources) hash.update(`${file}\0${content}\n`)
  return hash.digest('hex')
}

/** Of one launch. */
export function codeHashes(before: SourceHashes | null, after: SourceHashes | null): CodeHashes | null {
  if (before === null || after === null) return null
  const changed = [...new Set([...before.keys(), ...after.keys()])]
    .filter((file) => before.get(file) !== after.get(file))
    .slice(0, MAX_NAMED)
  const hashes = { before: hashCode(before), after: hashCode(after) }
  return changed.length === 0 ? hashes : { ...hashes, changed }
}

/** `trainer.cli` belongs to the package `trainer`, all of which it may import. */
function packageOf(module: string, workingDirectory: string): string | null {
  const [name = ''] = module.split('.')
  const places = [name, `${name}.py`, join('src', name)].map((place) => resolve(workingDirectory, place))
  return places.find((place) => existsSync(place)) ?? null
}

/** For a script that is a link, also the sources next to its target: Python imports from there, not from the folder of the link. */
async function besideScript(script: string, resultsDirectory: string): Promise<string[]> {
  const folder = dirname(script)
  const imported = dirname(await realpath(script).catch(() => script))
  const own = await sourcesIn(folder, resultsDirectory, [])
  if (imported === (await realpath(folder).catch(() => folder))) return own
  const results = await realpath(resultsDirectory).catch(() => resultsDirectory)
  return [...own, ...(await sourcesIn(imported, results, []))]
}

/**
 * What is linked is imported as what lies there is. A linked folder counts as sources if one lies right in it: links to
 * data lead to millions of files. `above` are the real folders around, into which no link leads again.
 */
async function sourcesIn(
  folder: string,
  resultsDirectory: string,
  above: readonly string[],
): Promise<string[]> {
  const real = await realpath(folder).catch(() => folder)
  if (above.includes(real)) return []
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const isLinkedData = above.length > 0 && real !== join(above.at(-1) ?? '', basename(folder))
  if (isLinkedData && !entries.some(({ name }) => SOURCE.test(name))) return []
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      // A link that leads nowhere is unreadable, until it does not.
      const kind = entry.isSymbolicLink() ? await stat(path).catch(() => null) : entry
      if (kind === null || kind.isFile()) return SOURCE.test(entry.name) ? [path] : []
      const isForeign =
        !kind.isDirectory() ||
        entry.name.startsWith('.') ||
        FOREIGN.has(entry.name) ||
        path === resultsDirectory ||
        existsSync(join(path, 'pyvenv.cfg'))
      return isForeign ? [] : await sourcesIn(path, resultsDirectory, [...above, real])
    }),
  )
  return found.flat()
}

/** A file that vanishes while it is read is a change like any other. */
async function contentHash(file: string): Promise<string> {
  try {
    return createHash('sha256')
      .update(await readFile(file))
      .digest('hex')
  } catch {
    return 'unreadable'
  }
}
