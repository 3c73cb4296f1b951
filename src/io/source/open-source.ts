// Opens a metrics file that a person names: as its reader gets it, converted first where that is needed.
import { createReadStream, existsSync, type Stats, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { ConfigError, messageOf } from '../../errors.ts'
import type { Reader, Source } from '../../read/reader.ts'
import { RAW_SOURCE } from '../../read/readers.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import { collect } from './collect.ts'

export interface OpenSource extends AsyncDisposable {
  readonly source: Source
}

/** Throws a ConfigError for what is no file that the reader could read. */
export async function openSource(
  path: string,
  reader: Reader,
  python: string,
  cancelled: AbortSignal,
): Promise<OpenSource> {
  const status = statusOf(path)
  const isRaw = reader.collected?.converter && (status.isDirectory() || RAW_SOURCE.test(path))
  if (isRaw) return await converted(status.isDirectory() ? path : dirname(path), reader, python, cancelled)
  if (status.isDirectory()) throw new ConfigError(`${path}: is a folder; name the metrics file in it`)
  requireReadable(path, status, reader)
  // Of a run, what a reader needs besides lies in the folder of the run.
  const fileOf = (name: string) => (name === reader.files[0] ? path : join(dirname(path), '..', name))
  for (const file of reader.files.slice(1).map(fileOf)) {
    if (!existsSync(file))
      throw new ConfigError(
        `${file}: is missing, and ${reader.name} reads it as well, by metrics.patterns. Name the ${basename(reader.files[0])} in the folder of a run, such as out/runs/01-warm-up-baseline/${reader.files[0]}`,
      )
    requireReadable(file, statusOf(file), reader)
  }
  return { source: (name) => createReadStream(fileOf(name)), [Symbol.asyncDispose]: async () => {} }
}

function requireReadable(path: string, status: Stats, { maxBytes }: Reader): void {
  if (!status.isFile()) throw new ConfigError(`${path}: is not a regular file`)
  if (status.size > maxBytes)
    throw new ConfigError(`${path}: has ${status.size} bytes, expected at most ${maxBytes}`)
}

async function converted(
  folder: string,
  reader: Reader,
  python: string,
  cancelled: AbortSignal,
): Promise<OpenSource> {
  const scratch = await mkdtemp(join(tmpdir(), 'speedproof-check-'))
  const remove = () => rm(scratch, { recursive: true, force: true })
  const target = join(scratch, basename(reader.collected?.target ?? reader.files[0]))
  const pattern = basename(folder)
  const found = reader.collected && { ...reader, collected: { ...reader.collected, pattern } }
  const problem = await collect(found ?? reader, dirname(folder), target, {
    python,
    workingDirectory: process.cwd(),
    environment: trainerEnvironment(process.env, {}),
    cancelled,
  }).catch(async (error: unknown) => {
    await remove()
    throw error
  })
  if (problem !== null) {
    await remove()
    throw new ConfigError(`${folder}: ${problem}`)
  }
  return { source: () => createReadStream(target), [Symbol.asyncDispose]: remove }
}

function statusOf(path: string): Stats {
  try {
    return statSync(path)
  } catch (error) {
    throw new ConfigError(`${path}: cannot be read (${messageOf(error)})`)
  }
}
