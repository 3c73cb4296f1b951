// Finds in a log why a program ended: the last exception that Python printed, where no error file tells.
import { type FileHandle, open } from 'node:fs/promises'
import type { RankFailure } from '../../measure/outcome.ts'
import { plainText } from './sanitize.ts'

const MAX_TAIL_BYTES = 256 * 1024
const MAX_MESSAGE_CHARACTERS = 500

/** torchrun's own exception says that a worker failed, not why. */
const EXCEPTION = /^(?!.*ChildFailedError)[\w.]*(?:Error|Exception|Interrupt|Exit)(?::.*)?$/

/** Null for a log that is absent or ends without an exception at the start of a line. */
export async function readLogError(logFile: string): Promise<RankFailure | null> {
  const lines = (await readTail(logFile)).split('\n').map(plainText)
  const message = lines.findLast((line) => EXCEPTION.test(line))
  if (message === undefined) return null
  return { rank: null, cause: 'error', message: message.slice(0, MAX_MESSAGE_CHARACTERS), step: null }
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
