// Hashes the files under `data:`, so that data which changes while it is measured on does not go unnoticed.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { VARIANTS } from '../../config/experiment.ts'
import { ConfigError, messageOf } from '../../errors.ts'
import type { DataHashes } from '../../measure/data-hashes.ts'
import type { VariantPlaces } from '../revisions/variant-places.ts'

/** Hashes by the path of each file, as the experiment names it. */
type FileHashes = ReadonlyMap<string, string>
export type DataFiles = Readonly<Record<keyof VariantPlaces, FileHashes>>

const MAX_NAMED = 3

/** Before anything waits for the machine. Throws a ConfigError for what is not there. */
export async function requireData(paths: readonly string[], places: VariantPlaces): Promise<void> {
  for (const variant of VARIANTS)
    for (const path of paths) {
      const place = resolve(places[variant].workingDirectory, path)
      await stat(place).catch((error: unknown) => unreadable(path, error))
    }
}

/**
 * Null when cancelled. `before` throws a ConfigError for what is not there or cannot be read; `after`, that is a change
 * like any other.
 */
export async function hashData(
  paths: readonly string[],
  places: VariantPlaces,
  when: 'before' | 'after',
  cancelled: AbortSignal,
): Promise<DataFiles | null> {
  const failing = when === 'before' ? unreadable : () => null
  // Both variants read the same files, mostly.
  const known = new Map<string, string>()
  const found: Partial<Record<keyof VariantPlaces, FileHashes>> = {}
  for (const variant of VARIANTS) {
    const files = new Map<string, string>()
    for (const path of paths) {
      const folder = places[variant].workingDirectory
      for (const file of (await filesIn(path, folder).catch((error: unknown) => failing(path, error))) ?? [
        path,
      ]) {
        const content = await contentHash(resolve(folder, file), known, cancelled).catch((error: unknown) =>
          cancelled.aborted ? null : failing(file, error),
        )
        if (cancelled.aborted) return null
        files.set(file, content ?? 'unreadable')
      }
    }
    found[variant] = files
  }
  const { baseline, optimized } = found
  return baseline && optimized ? { baseline, optimized } : null
}

export function dataHashes(before: DataFiles, after: DataFiles | null): DataHashes {
  const changed =
    after === null ? [] : VARIANTS.flatMap((variant) => changedFiles(before[variant], after[variant]))
  return {
    before: together(before),
    after: after && together(after),
    changed: [...new Set(changed)].slice(0, MAX_NAMED),
  }
}

function together({ baseline, optimized }: DataFiles): DataHashes['before'] {
  return { baseline: hashOf(baseline), optimized: hashOf(optimized) }
}

function hashOf(files: FileHashes): string {
  const hash = createHash('sha256')
  for (const file of [...files.keys()].sort()) hash.update(`${file}\0${files.get(file)}\n`)
  return hash.digest('hex')
}

function changedFiles(before: FileHashes, after: FileHashes): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (file) => before.get(file) !== after.get(file),
  )
}

/** As paths that begin with the given one. Links are followed, but never into a folder around them. */
async function filesIn(
  path: string,
  workingDirectory: string,
  above: readonly string[] = [],
): Promise<string[]> {
  const place = resolve(workingDirectory, path)
  const found = await stat(place)
  if (found.isFile()) return [path]
  if (!found.isDirectory()) throw new Error(`${path} is neither a file nor a folder`)
  const real = await realpath(place)
  if (above.includes(real)) return []
  const names = await readdir(place)
  const files: string[] = []
  for (const name of names)
    files.push(...(await filesIn(join(path, name), workingDirectory, [...above, real])))
  return files
}

/** Throws on a cancel: one file may be terabytes. */
async function contentHash(place: string, known: Map<string, string>, signal: AbortSignal): Promise<string> {
  const real = await realpath(place)
  const earlier = known.get(real)
  if (earlier !== undefined) return earlier
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(real, { signal })) hash.update(chunk)
  const content = hash.digest('hex')
  known.set(real, content)
  return content
}

function unreadable(path: string, error: unknown): never {
  throw new ConfigError(
    `data: got "${path}", which cannot be read (${messageOf(error)}); paths are relative to the working directory`,
  )
}
