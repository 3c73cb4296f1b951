// After a launch: gives what it left as its metrics a name of ours, converted where Node cannot read it.
import { constants, createWriteStream } from 'node:fs'
import { mkdir, open, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CancelledError, messageOf } from '../../errors.ts'
import type { LaunchEnd } from '../../measure/outcome.ts'
import { COLLECTION_PROBLEM, type Reader } from '../../read/reader.ts'
import { listed } from '../../text/wording.ts'
import { runShort } from '../process/short-command.ts'
import { packageRoot } from '../system/package-root.ts'
import { matchingFiles } from './matching-files.ts'

export interface Converting {
  /** With the library that wrote the source. */
  readonly python: string
  readonly workingDirectory: string
  readonly environment: Record<string, string>
  readonly cancelled: AbortSignal
}

/** If it fails, a file in the run's folder says why. Throws a CancelledError. */
export async function collectSource(
  reader: Reader,
  directory: string,
  result: LaunchEnd,
  converting: Converting,
): Promise<void> {
  if (!reader.collected || result.status === 'cancelled' || result.status === 'not-started') return
  const target = join(directory, reader.collected.target)
  // A training could have put one there.
  await rm(dirname(target), { recursive: true, force: true })
  await mkdir(dirname(target))
  const problem = await collect(reader, directory, target, converting)
  if (problem !== null) await writeFile(join(directory, COLLECTION_PROBLEM), problem.slice(0, MAX_PROBLEM))
}

const MAX_PROBLEM = 1000

/** Why there is no such file; null for one. Throws a CancelledError. */
export async function collect(
  { collected, maxBytes }: Reader,
  directory: string,
  target: string,
  converting: Converting,
): Promise<string | null> {
  if (!collected) return null
  try {
    return collected.converter === null
      ? await copyMatch(directory, collected, target, maxBytes)
      : await convert(collected.converter, join(directory, collected.pattern), target, maxBytes, converting)
  } catch (error) {
    if (error instanceof CancelledError) throw error
    return `the metrics cannot be collected: ${messageOf(error)}`
  }
}

async function copyMatch(
  directory: string,
  { pattern, choice }: NonNullable<Reader['collected']>,
  target: string,
  maxBytes: number,
): Promise<string | null> {
  const found = await matchingFiles(directory, pattern)
  const [first, ...others] = choice === 'highest' ? found.toSorted(byDepthAndNumber).slice(0, 1) : found
  if (first === undefined)
    return `${pattern} is missing: the training did not write it, or metrics.file is another one`
  if (others.length > 0)
    return `${pattern} is ${found.length} files (${listed(found)}); name one of them with metrics.file`
  await using file = await open(
    join(directory, first),
    constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW,
  )
  const status = await file.stat()
  if (!status.isFile()) return `${first} is not a regular file`
  if (status.size > maxBytes)
    return `${first} has ${status.size} bytes, expected at most ${maxBytes}. Write less into it`
  const source = file.createReadStream({ autoClose: false, end: maxBytes - 1 })
  await pipeline(source, createWriteStream(target, { flags: 'wx' }))
  return null
}

/** What stands higher up is about more; of checkpoints, the last. */
function byDepthAndNumber(a: string, b: string): number {
  const depth = (path: string) => path.split('/').length
  return depth(a) - depth(b) || b.localeCompare(a, 'en', { numeric: true })
}

async function convert(
  converter: 'tensorboard' | 'wandb_offline',
  folder: string,
  target: string,
  maxBytes: number,
  { python, workingDirectory, environment, cancelled }: Converting,
): Promise<string | null> {
  const script = join(packageRoot(), 'src', 'io', 'source', `convert_${converter}.py`)
  const command = [python, script, folder, target, String(maxBytes)]
  const end = await runShort(command, workingDirectory, environment, cancelled)
  if (end.status === 'no-answer') return `${converter} cannot be converted: ${end.message}`
  return end.exitCode === 0
    ? null
    : `${converter} cannot be converted: ${end.stderr.trim().split('\n').at(-1) || `exit code ${end.exitCode}`}`
}
