// Takes the files that a verdict is made from out of an archive that may be hostile. Nothing else leaves it.
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { messageOf, RunError } from '../../errors.ts'
import { isEvidence } from '../folder/evidence.ts'
import { NEW_FILE } from '../folder/own-file.ts'
import { ARTIFACT_LIMITS } from '../github/artifact/artifact-files.ts'

export interface UnpackLimits {
  readonly entries: number
  readonly fileBytes: number
  readonly totalBytes: number
}

/** One file is as large as the readers take; all together are no more than a measuring job uploads. */
export const UNPACK_LIMITS: UnpackLimits = {
  entries: 10_000,
  fileBytes: 64 * 1024 ** 2,
  totalBytes: ARTIFACT_LIMITS.totalBytes,
}

// Names are ours, not the archive's: no link, no "..", no other folder can be meant by one of these.
const NEEDED = ['result.json', 'evaluation/evaluations.jsonl']
const RUN_FILE = /^runs\/[a-z0-9][a-z0-9-]{0,99}\/(.+)$/

function isNeeded(name: string): boolean {
  const [, ofRun] = RUN_FILE.exec(name) ?? []
  return NEEDED.includes(name) || (ofRun !== undefined && isEvidence(ofRun))
}

/** Throws a RunError for an archive that is broken, too large, or has a file twice. */
export async function unpackResult(
  archive: string,
  folder: string,
  limits: UnpackLimits = UNPACK_LIMITS,
): Promise<void> {
  try {
    const zip = await openPromise(archive, { lazyEntries: true, autoClose: false, strictFileNames: true })
    try {
      await unpackEntries(zip, folder, limits)
    } finally {
      zip.close()
    }
  } catch (error) {
    throw new RunError(`the artifact cannot be read: ${messageOf(error)}`)
  }
}

async function unpackEntries(zip: ZipFile, folder: string, limits: UnpackLimits): Promise<void> {
  if (zip.entryCount > limits.entries)
    throw new Error(`it has ${zip.entryCount} files, at most ${limits.entries} are read`)
  const seen = new Set<string>()
  let bytesLeft = limits.totalBytes
  for await (const entry of zip.eachEntry()) {
    if (!isNeeded(entry.fileName)) continue
    // Two readers could take different ones of them.
    if (seen.has(entry.fileName)) throw new Error(`it has ${entry.fileName} twice`)
    seen.add(entry.fileName)
    const limit = Math.min(limits.fileBytes, bytesLeft)
    if (entry.uncompressedSize > limit)
      throw new Error(`${entry.fileName} has ${entry.uncompressedSize} bytes, at most ${limit} are read`)
    bytesLeft -= entry.uncompressedSize
    await unpackEntry(zip, entry, join(folder, entry.fileName))
  }
}

/** yauzl ends the stream with an error where the bytes are more or fewer than the entry says. */
async function unpackEntry(zip: ZipFile, entry: Entry, file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(file, { flags: NEW_FILE }))
}
