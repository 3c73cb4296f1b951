// Finds files below a folder by a path with wildcards, in bounded time, since a training has filled the folder.
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

const MAX_ENTRIES = 100_000
const MAX_DEPTH = 12

/** Sorted, as paths from the folder. No link is followed. */
export async function matchingFiles(folder: string, pattern: string): Promise<string[]> {
  const search = { folder, entries: 0, found: new Set<string>() }
  await look(search, '', pattern.split('/'), 0)
  return [...search.found].sort()
}

interface Search {
  readonly folder: string
  entries: number
  readonly found: Set<string>
}

async function look(search: Search, path: string, [part, ...rest]: string[], depth: number): Promise<void> {
  if (part === undefined || depth > MAX_DEPTH) return
  const isLast = rest.length === 0
  if (!part.includes('*')) {
    const next = path === '' ? part : `${path}/${part}`
    const status = await lstat(join(search.folder, next)).catch(() => null)
    if (isLast && status?.isFile()) search.found.add(next)
    if (!isLast && status?.isDirectory()) await look(search, next, rest, depth + 1)
    return
  }
  if (part === '**') await look(search, path, rest, depth)
  const entries = await readdir(join(search.folder, path), { withFileTypes: true }).catch(() => [])
  search.entries += entries.length
  if (search.entries > MAX_ENTRIES)
    throw new Error(`the folder of the training has more than ${MAX_ENTRIES} files to look through`)
  for (const entry of entries) {
    const next = path === '' ? entry.name : `${path}/${entry.name}`
    if (part === '**') {
      if (entry.isDirectory()) await look(search, next, [part, ...rest], depth + 1)
      else if (isLast && entry.isFile()) search.found.add(next)
    } else if (matches(entry.name, part)) {
      if (isLast && entry.isFile()) search.found.add(next)
      if (!isLast && entry.isDirectory()) await look(search, next, rest, depth + 1)
    }
  }
}

/** By hand, since a regular expression with many wildcards can take for ever. */
function matches(name: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop() ?? ''
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false
  let at = first.length
  for (const piece of others) {
    const index = name.indexOf(piece, at)
    if (index < 0 || index + piece.length > name.length - last.length) return false
    at = index + piece.length
  }
  return true
}
