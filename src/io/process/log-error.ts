// Finds in a log why a program ended: the last exception that the rank at fault printed, where no error file tells.
import { type FileHandle, open } from 'node:fs/promises'
import type { RankFailure } from '../../measure/outcome.ts'
import { causeOf } from './error-files.ts'
import { plainText } from './sanitize.ts'

const MAX_TAIL_BYTES = 256 * 1024
const MAX_MESSAGE_CHARACTERS = 500

/** torchrun's own exception says that a worker failed, not why. */
const EXCEPTION = /^(?!.*ChildFailedError)[\w.]*(?:Error|Exception|Interrupt|Exit)(?::.*)?$/
/** torch puts it before each line of a traceback where there is a process group. */
const OF_RANK = /^\[rank(\d+)\]: /
/** In torchrun's last words, below `Root Cause (first observed failure)`. The others fail because that one did. */
const ROOT_CAUSE = /^Root Cause\b/
const FAILED_RANK = /^\s*rank\s*: (\d+) \(local_rank: \d+\)$/

/** Null for a log that is absent or ends without an exception at the start of a line. */
export async function readLogError(logFile: string): Promise<RankFailure | null> {
  const lines = (await readTail(logFile)).split('\n').map(plainText)
  const exceptions = lines
    .map((line) => ({ rank: numberIn(OF_RANK, line), message: line.replace(OF_RANK, '') }))
    .filter(({ message }) => EXCEPTION.test(message))
  const atFault = rankAtFault(lines)
  const found = exceptions.findLast(({ rank }) => rank !== null && rank === atFault) ?? exceptions.at(-1)
  if (found === undefined) return null
  const message = found.message.slice(0, MAX_MESSAGE_CHARACTERS)
  return { rank: found.rank, cause: causeOf(message), message, step: null }
}

function rankAtFault(lines: readonly string[]): number | null {
  const after = lines.slice(lines.findLastIndex((line) => ROOT_CAUSE.test(line)))
  return numberIn(FAILED_RANK, after.find((line) => FAILED_RANK.test(line)) ?? '')
}

function numberIn(pattern: RegExp, line: string): number | null {
  const [, digits] = pattern.exec(line) ?? []
  return digits === undefined ? null : Number(digits)
}

async function readTail(path: string): Promise<string> {
  let file: FileHandle
  try {
    file = await open(path)
  } catch {
    return '' // Nothing was started, so there is no log.
  }
  try {
    const { size } = await file.stat()
    const wanted = Math.min(size, MAX_TAIL_BYTES)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted), 0, wanted, size - wanted)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
