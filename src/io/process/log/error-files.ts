// Reads why ranks failed, from the error files that torchrun's workers leave under its --log-dir.
import { constants } from 'node:fs'
import { open, opendir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import type { RankFailure } from '../../../measure/outcome.ts'
import { tryParseJson } from '../../system/parse-json.ts'
import { plainText } from '../../system/sanitize.ts'
import { causeOf } from './failure-kind.ts'
import { lastException, readMessage } from './traceback.ts'

export interface RankError extends RankFailure {
  /** Seconds since the epoch. */
  timestamp: number
}

/** DIR/RUN_ID_xxxx/attempt_0/LOCAL_RANK/error.json is torchrun's layout. */
const MAX_DEPTH = 4
const MAX_FILES = 1024
const MAX_FILE_BYTES = 1024 ** 2
const MAX_MESSAGE_CHARACTERS = 500

/**
 * The failures, earliest first. A rank that was killed by a signal leaves no file, nor does one that
 * nothing catches exceptions for: an empty list does not mean that all went well. The agents of several nodes each have
 * a folder here, and count its ranks from 0: then only a file that says so itself has a rank.
 */
export async function readErrorFiles(logDirectory: string, nodes = 1): Promise<RankError[]> {
  const found: { error: FoundError; writtenAt: number }[] = []
  for await (const path of errorFiles(logDirectory, MAX_DEPTH)) {
    const file = await readBounded(path)
    if (file) found.push({ error: rankError(path, file), writtenAt: file.writtenAt })
    if (found.length === MAX_FILES) break
  }
  // The timestamps are whole seconds, and one rank's failure takes the others down within one.
  found.sort((a, b) => a.error.timestamp - b.error.timestamp || a.writtenAt - b.writtenAt)
  return found
    .map(({ error: { isLocal, ...error } }) => (isLocal && nodes > 1 ? { ...error, rank: null } : error))
    .filter((error, _, errors) => !(error.rank === null && errors.some((other) => isCopy(error, other))))
}

/** A launcher under @record copies the file of its first worker into its own. */
function isCopy(error: RankError, other: RankError): boolean {
  return other.rank !== null && other.message === error.message && other.timestamp === error.timestamp
}

/** Follows no symbolic link. */
async function* errorFiles(folder: string, depth: number): AsyncGenerator<string> {
  const entries = await opendir(folder).catch(() => undefined)
  if (entries === undefined) return
  for await (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isFile() && entry.name === 'error.json') yield path
    if (entry.isDirectory() && depth > 0) yield* errorFiles(path, depth - 1)
  }
}

interface BoundedFile {
  /** Undefined when the file is too large to be an error file. */
  text: string | undefined
  /** Milliseconds since the epoch, with fractions. */
  writtenAt: number
}

async function readBounded(path: string): Promise<BoundedFile | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(path, flags).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const { size, mtimeMs } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, MAX_FILE_BYTES)))
    const text = size > MAX_FILE_BYTES ? undefined : buffer.toString('utf8', 0, bytesRead)
    return { text, writtenAt: mtimeMs }
  } finally {
    await file.close()
  }
}

/** What is of the wrong type is as good as absent. */
function optional<T extends z.ZodType>(type: T) {
  return type.optional().catch(undefined)
}

/** torch writes the time as text. Not z.coerce, which takes null for 0. */
const timestamp = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d{1,12}(\.\d+)?$/)
      .transform(Number),
  ])
  .pipe(z.number().positive())
const wholeNumber = z.number().int().nonnegative()

const details = z.object({
  timestamp: optional(timestamp),
  cause: optional(z.enum(['out-of-memory', 'diverged', 'error'])),
  step: optional(wholeNumber),
  rank: optional(wholeNumber),
  py_callstack: optional(z.string()),
})

const noDetails: z.infer<typeof details> = {}

/** Written by torch's `@record`: `message` is an object, or just text in older and C++ writers. */
const errorFile = z.object({
  message: z.union([
    z.string().transform((message) => ({ message, extraInfo: noDetails })),
    z.object({ message: z.string(), extraInfo: details.catch(noDetails) }),
  ]),
  timestamp: optional(timestamp),
})

interface FoundError extends RankError {
  /** The rank is that of its folder, and not of what the file says. */
  readonly isLocal: boolean
}

function rankError(path: string, { text, writtenAt }: BoundedFile): FoundError {
  const rank = rankOfFolder(path)
  const parsed = errorFile.safeParse(tryParseJson(text ?? ''))
  if (!parsed.success) {
    const message =
      text === undefined
        ? 'its error file is too large'
        : text === ''
          ? 'its error file is empty, which happens when a disk is full'
          : 'its error file cannot be read'
    return { rank, isLocal: true, cause: 'error', message, step: null, timestamp: writtenAt / 1000 }
  }
  const { message: written, extraInfo } = parsed.data.message
  const message = readMessage(written)?.text ?? shorten(written)
  const traceback = lastException(extraInfo.py_callstack ?? '')
  const location = traceback?.location ?? null
  return {
    rank: extraInfo.rank ?? rank,
    isLocal: extraInfo.rank === undefined,
    cause: extraInfo.cause ?? causeOf(message),
    message,
    step: extraInfo.step ?? null,
    ...(location === null ? {} : { location }),
    timestamp: extraInfo.timestamp ?? parsed.data.timestamp ?? writtenAt / 1000,
  }
}

/** torchrun names the folder by the local rank: the global one where there is one host. */
function rankOfFolder(path: string): number | null {
  const name = basename(dirname(path))
  return /^\d{1,6}$/.test(name) ? Number(name) : null
}

function shorten(message: string): string {
  const text = plainText(
    message
      .slice(0, 4 * MAX_MESSAGE_CHARACTERS)
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
  return text.length > MAX_MESSAGE_CHARACTERS
    ? `${text.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed()} …`
    : text
}
