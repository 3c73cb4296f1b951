// Chooses the files of a folder that may go into an artifact; a trainer has written there, so nothing is trusted.
import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { messageOf } from '../../../errors.ts'
import { RAW_SOURCE } from '../../../read/readers.ts'
import { isEvidence } from '../../folder/evidence.ts'

export interface ArtifactFiles {
  /** Absolute paths of regular files. */
  files: string[]
  leftOut: { path: string; reason: string }[]
}

export interface SizeLimits {
  files: number
  fileBytes: number
  totalBytes: number
}

/** No more than a report reads, packed or not. Checkpoints belong into other storage. */
export const ARTIFACT_LIMITS: SizeLimits = {
  files: 10_000,
  fileBytes: 256 * 1024 ** 2,
  totalBytes: 480 * 1024 ** 2,
}

/** Converted sources are always in the artifact; raw ones only help to look closer. */
const MAX_RAW_BYTES = 20 * 1000 ** 2

/** A verdict is made from these: they must not give way to what else a trainer writes. */
function isNeeded(path: string): boolean {
  const ofRun = /(?:^|\/)runs\/[^/]+\/(.+)$/.exec(path)?.[1]
  return ofRun === undefined ? NEEDED.test(path) : CONFIG.test(ofRun) || isEvidence(ofRun)
}

const NEEDED = /(^|\/)(result\.json|report\.md|evaluation\/evaluations\.jsonl)$/
/** In the format of the trainer. */
const CONFIG = /^config(\.\w+)?$/

// The artifact service refuses the whole artifact for one such name (they do not exist on NTFS), a report for a backslash.
const FORBIDDEN_IN_PATHS = /[":<>|*?\r\n\\]/

/** Paths are taken from the root. Links are left out: their target may be anything. */
export async function chooseArtifactFiles(
  rootDirectory: string,
  paths: readonly string[],
  limits: SizeLimits = ARTIFACT_LIMITS,
): Promise<ArtifactFiles> {
  const root = resolve(rootDirectory)
  const candidates = paths.map((path) => resolve(root, path))
  const chosen: ArtifactFiles = { files: [], leftOut: [] }
  const regular: RegularFile[] = []
  for (const path of candidates.toSorted()) {
    const facts = await inspect(root, path)
    if ('bytes' in facts) regular.push({ path, bytes: facts.bytes })
    else chosen.leftOut.push({ path: relative(root, path), reason: facts.reason })
  }
  let [bytesLeft, rawBytesLeft] = [limits.totalBytes, MAX_RAW_BYTES]
  for (const { path, bytes } of regular.toSorted(byNeed)) {
    const isRaw = RAW_SOURCE.test(path)
    const reason =
      isRaw && bytes > rawBytesLeft
        ? `has ${bytes} bytes, more than is left of the ${MAX_RAW_BYTES} for sources that were converted`
        : whyTooMuch(bytes, chosen.files.length, bytesLeft, limits)
    if (reason !== null) {
      chosen.leftOut.push({ path: relative(root, path), reason })
    } else {
      chosen.files.push(path)
      bytesLeft -= bytes
      if (isRaw) rawBytesLeft -= bytes
    }
  }
  return { files: chosen.files.toSorted(), leftOut: chosen.leftOut }
}

interface RegularFile {
  readonly path: string
  readonly bytes: number
}

/** After what is needed, the small ones: a log explains more than a checkpoint, and takes less. */
function byNeed(a: RegularFile, b: RegularFile): number {
  return Number(isNeeded(b.path)) - Number(isNeeded(a.path)) || a.bytes - b.bytes
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

function whyTooMuch(bytes: number, files: number, bytesLeft: number, limits: SizeLimits): string | null {
  const { fileBytes } = limits
  if (files >= limits.files) return `is beyond the ${limits.files} files that an artifact may have`
  if (bytes > fileBytes) return `has ${bytes} bytes, more than the ${fileBytes} that one file may have`
  if (bytes > bytesLeft) return `has ${bytes} bytes, more than is left of the artifact's limit`
  return null
}
