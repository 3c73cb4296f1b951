// Finds in a log why a program ended, where no error file tells: the last exception of the rank at fault, or a last line.
import { type FileHandle, open } from 'node:fs/promises'
import type { LaunchEnd, LaunchRecord, RankFailure } from '../../../measure/outcome.ts'
import { plainText } from '../../system/sanitize.ts'
import { causeOf } from './error-files.ts'

const MAX_TAIL_BYTES = 256 * 1024
const MAX_MESSAGE_CHARACTERS = 500

/** torchrun's own exception says that a worker failed, not why. */
const EXCEPTION = /^(?!.*ChildFailedError)[\w.]*(?:Error|Exception|Interrupt|Exit)(?::.*)?$/
/** torch puts it before each line of a traceback where there is a process group. */
const OF_RANK = /^\[rank(\d+)\]: /
/** In torchrun's last words, below `Root Cause (first observed failure)`. The others fail because that one did. */
const ROOT_CAUSE = /^Root Cause\b/
const FAILED_RANK = /^\s*rank\s*: (\d+) \(local_rank: \d+\)$/
const EXIT_CODE = /^\s*exitcode\s*: (\d+) \(pid: \d+\)\s*$/
const SIGNAL = /^\s*traceback\s*: (Signal \d+ \(\w+\) received by PID \d+)$/

const TRACEBACK = /^Traceback \(most recent call last\):$/
const OF_TORCHRUN =
  /^[EWI]\d{4} \S+ \d+ \S*\btorch\/distributed\/|^\*+$|^Setting OMP_NUM_THREADS environment variable /
/** What libraries say at any end, and what goes on from the line before. */
const NO_REASON = /Warning: |^\[rank\d+\]:\[[WI]|^\s|^$/

/** Null for a log that is absent or has no exception at the start of a line, and no signal that ended a rank. */
export async function readLogError(logFile: string): Promise<RankFailure | null> {
  const lines = await readLines(logFile)
  const exceptions = lines
    .map((line) => ({ rank: numberIn(OF_RANK, line), message: line.replace(OF_RANK, '') }))
    .filter(({ message }) => EXCEPTION.test(message))
  const atFault = rankAtFault(lines)
  const signal = rootCause(lines).flatMap((line) => SIGNAL.exec(line)?.[1] ?? [])[0]
  // What the others say is that the first is gone.
  const found =
    exceptions.findLast(({ rank }) => rank !== null && rank === atFault) ??
    (signal === undefined ? null : { rank: atFault, message: signal }) ??
    exceptions.findLast(({ rank }) => rank === null) ??
    exceptions.at(-1)
  if (found === undefined) return null
  const { rank, message } = found
  return { rank, cause: causeOf(message), message: message.slice(0, MAX_MESSAGE_CHARACTERS), step: null }
}

/** Of a program that failed without an error. */
export async function lastWords(
  logFile: string,
  result: LaunchEnd,
  errors: readonly RankFailure[],
): Promise<Pick<LaunchRecord, 'lastLine' | 'rankExit'>> {
  const isUnexplained = result.status === 'exited' && result.exitCode !== 0 && errors.length === 0
  if (!isUnexplained) return {}
  const rankExit = await readRankExit(logFile)
  return { lastLine: await readLastLine(logFile), ...(rankExit === null ? {} : { rankExit }) }
}

/** Of the rank that failed first; null without torchrun's last words. */
export async function readRankExit(logFile: string): Promise<NonNullable<LaunchRecord['rankExit']> | null> {
  const lines = await readLines(logFile)
  const rank = rankAtFault(lines)
  const exitCode = numberIn(EXIT_CODE, rootCause(lines).find((line) => EXIT_CODE.test(line)) ?? '')
  return rank === null || exitCode === null ? null : { rank, exitCode }
}

/** For a person who tries a training: the last that it printed, line by line. */
export async function readLastLines(logFile: string, most: number): Promise<string[]> {
  const lines = (await readLines(logFile)).filter((line) => line.trim() !== '' && !OF_TORCHRUN.test(line))
  return lines.slice(-most).map((line) => line.slice(0, MAX_MESSAGE_CHARACTERS))
}

/** What the program printed last, such as the reason for its exit; null if there is no line of it. */
export async function readLastLine(logFile: string): Promise<string | null> {
  const lines = await readLines(logFile)
  const failed = lines.findLastIndex((line) => line.includes('.ChildFailedError:'))
  const footer = lines.slice(0, Math.max(failed, 0)).findLastIndex((line) => TRACEBACK.test(line))
  const last = lines
    .slice(0, footer < 0 ? undefined : footer)
    .findLast((line) => !OF_TORCHRUN.test(line) && !NO_REASON.test(line))
  return last === undefined ? null : last.slice(0, MAX_MESSAGE_CHARACTERS)
}

function rootCause(lines: readonly string[]): readonly string[] {
  return lines.slice(lines.findLastIndex((line) => ROOT_CAUSE.test(line)))
}

function rankAtFault(lines: readonly string[]): number | null {
  return numberIn(FAILED_RANK, rootCause(lines).find((line) => FAILED_RANK.test(line)) ?? '')
}

function numberIn(pattern: RegExp, line: string): number | null {
  const [, digits] = pattern.exec(line) ?? []
  return digits === undefined ? null : Number(digits)
}

async function readLines(logFile: string): Promise<string[]> {
  return (await readTail(logFile)).split('\n').map(plainText)
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
