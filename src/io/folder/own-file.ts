// Creates the files and folders that are Speedproof's own, where a training may have put a pipe, a link or a folder.
import { randomUUID } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** By O_CREAT and O_EXCL: new and regular, or an error. What is there is neither waited for nor followed. */
export const NEW_FILE = 'wx'

export async function createOwnFile(path: string): Promise<FileHandle> {
  return await open(path, NEW_FILE)
}

export async function writeOwnFile(path: string, content: string | Uint8Array): Promise<void> {
  await using file = await createOwnFile(path)
  await file.writeFile(content)
}

/** Whatever has this name goes, and nothing else does. A reader, or a kill half-way, never sees half a file. */
export async function replaceOwnFile(path: string, text: string): Promise<void> {
  const part = `${path}.${randomUUID()}.part`
  try {
    await writeOwnFile(part, text)
    // A rename takes the place of all but a folder.
    if (await isOwnFolder(path)) await rm(path, { recursive: true, force: true })
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Of a folder that stays from launch to launch: throws for anything else in its place, a link to a folder too. */
export async function makeOwnFolder(base: string, ...names: readonly string[]): Promise<void> {
  let path = base
  for (const name of names) {
    path = join(path, name)
    await makeOrTake(path, ATTEMPTS)
  }
}

/** Of several processes that make and move one folder at once. */
const ATTEMPTS = 100

async function makeOrTake(path: string, attempts: number): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const isExisting = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (isExisting && found?.isDirectory()) return
    // Where nothing is any more, what was in the way has just been moved.
    if (!isExisting || found !== undefined || attempts === 0) throw error
    await makeOrTake(path, attempts - 1)
  }
}

/** Throws for whatever is there, an empty folder too. */
export async function makeNewFolder(path: string): Promise<void> {
  await mkdir(path)
}

/** False for a link to a folder. */
export async function isOwnFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null))?.isDirectory() ?? false
}

/** False for a link to a file. */
export async function isOwnFile(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null))?.isFile() ?? false
}

/** Also a link that leads nowhere. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
