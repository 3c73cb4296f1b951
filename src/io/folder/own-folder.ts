// Recognizes output folders that Speedproof made; files in any other are never moved.
import { existsSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { isMapping } from '../../config/same-work/differences.ts'
import { ConfigError } from '../../errors.ts'
import { tryParseJson } from '../system/parse-json.ts'
import { readText } from '../system/read-text.ts'
import { isOwnFile, isThere, writeOwnFile } from './own-file.ts'

/** Written before anything else, since a run that is killed early leaves no record. */
const MARK = '.speedproof'
const MARK_TEXT =
  'This folder belongs to Speedproof: each experiment moves the files of the one before to earlier/.\n'

const RECORDS = ['result.json', 'ladder.json']
export const MAX_RECORD_BYTES = 64 * 1024 * 1024

export async function markAsOurs(directory: string): Promise<void> {
  const mark = join(directory, MARK)
  if (await isOwnFile(mark)) return
  if (isThere(mark)) await rm(mark, { recursive: true, force: true })
  await writeOwnFile(mark, MARK_TEXT).catch(async (error: unknown) => {
    // Another process that shares the folder may have been faster.
    if (!(await isOwnFile(mark))) throw error
  })
}

/** Throws a ConfigError for a folder that the project itself lies in, such as / or the working directory, or a link to it. */
export function refuseSurrounding(directory: string, workingDirectory: string): void {
  const holds = (outer: string, inner: string) => relative(outer, inner).split(sep)[0] !== '..'
  const holdsLinked = holds(withoutLinks(directory), withoutLinks(workingDirectory))
  if (!holds(directory, workingDirectory) && !holdsLinked) return
  throw new ConfigError(
    `out: got "${directory}", which contains the working directory; results need a folder of their own. Name one, such as out`,
  )
}

function withoutLinks(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}

/** Throws a ConfigError where one of these exists and Speedproof did not write it. */
export async function refuseForeign(directory: string, names: readonly string[]): Promise<void> {
  const there = names.filter((name) => isThere(join(directory, name)))
  if (there.length === 0 || isThere(join(directory, MARK))) return
  // A downloaded artifact has no mark.
  for (const name of RECORDS) if (await isOurRecord(join(directory, name))) return
  throw new ConfigError(
    `out: got "${directory}", which already has ${there.join(', ')} that Speedproof did not write. Name another folder, or move them away`,
  )
}

async function isOurRecord(file: string): Promise<boolean> {
  try {
    const json: unknown = tryParseJson(await readText(file, file, MAX_RECORD_BYTES))
    return isMapping(json) && Object.hasOwn(json, 'experimentFile')
  } catch {
    return false
  }
}
