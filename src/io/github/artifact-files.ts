// Chooses the files of a folder that may go into an artifact; a trainer has written there, so nothing is trusted.
import { constants } from 'node:fs'
import { access, lstat, readdir } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { messageOf } from '../error-message.ts'

export interface ArtifactFiles {
  /** Absolute paths of regular files. */
  files: string[]
  leftOut: { path: string; reason: string }[]
}

export interface SizeLimits {
  fileBytes: number
  totalBytes: number
}

/** Checkpoints belong into other storage; what a report needs is far below this. */
export const ARTIFACT_LIMITS: SizeLimits = { fileBytes: 512 * 1024 ** 2, totalBytes: 2 * 1024 ** 3 }

// The artifact service refuses the whole artifact for one such name (they do not exist on NTFS).
const FORBIDDEN_IN_PATHS = /[":<>|*?\r\n]/

/** Paths that are not given are all files under the root. Links are left out: their target may be anything. */
export async function chooseArtifactFiles(
  rootDirectory: string,
  paths?: readonly string[],
  limits: SizeLimits = ARTIFACT_LIMITS,
): Promise<ArtifactFiles> {
  const root = resolve(rootDirectory)
  const candidates = paths?.map((path) => resolve(root, path)) ?? (await listFiles(root))
  const chosen: ArtifactFiles = { files: [], leftOut: [] }
  let bytesLeft = limits.totalBytes
  for (const path of candidates.toSorted()) {
    const facts = await inspect(root, path)
    const reason = 'reason' in facts ? facts.reason : whyTooLarge(facts.bytes, limits.fileBytes, bytesLeft)
    if (reason !== null) {
      chosen.leftOut.push({ path: relative(root, path), reason })
    } else if ('bytes' in facts) {
      chosen.files.push(path)
      bytesLeft -= facts.bytes
    }
  }
  return chosen
}

async function listFiles(root: string): Promise<string[]> {
  // A recursive readdir names links and does not enter them.
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries.filter((one) => !one.isDirectory()).map((one) => resolve(one.parentPath, one.name))
}

async function inspect(root: string, path: string): Promise<{ bytes: number } | { reason: string }> {
  if (!path.startsWith(root + sep)) return { reason: 'lies outside of the folder' }
  if (FORBIDDEN_IN_PATHS.test(relative(root, path)))
    return { reason: 'has a name that artifacts do not allow' }
  try {
    const linked = await findLink(root, path)
    if (linked !== null) return { reason: `"${relative(root, linked)}" is a symbolic link` }
    const facts = await lstat(path)
    if (!facts.isFile()) return { reason: 'is not a regular file' }
    await access(path, constants.R_OK)
    return { bytes: facts.size }
  } catch (error) {
    return { reason: `cannot be read: ${messageOf(error)}` }
  }
}

/** The first link on the way from the root to the file: a linked folder leads outside as well as a linked file. */
async function findLink(root: string, path: string): Promise<string | null> {
  let current = root
  for (const part of relative(root, path).split(sep)) {
    current = resolve(current, part)
    if ((await lstat(current)).isSymbolicLink()) return current
  }
  return null
}

function whyTooLarge(bytes: number, fileBytes: number, bytesLeft: number): string | null {
  if (bytes > fileBytes) return `has ${bytes} bytes, more than the ${fileBytes} that one file may have`
  if (bytes > bytesLeft) return `has ${bytes} bytes, more than is left of the artifact's limit`
  return null
}
