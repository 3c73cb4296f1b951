// Weighs all that is left of a failed launch: which rank failed first, and what its failure was.
import type { LaunchEnd, LaunchRecord, RankFailure } from '../../../measure/outcome.ts'
import { type RankError, readErrorFiles } from './error-files.ts'
import { causeOf, isConsequence } from './failure-kind.ts'
import { type RankExit, readLauncherReport, signalOf } from './launcher-report.ts'
import { type LogLine, readLogLines } from './log-lines.ts'
import { faultLocation, memoryWords, nativeWords } from './native-words.ts'
import { beforeReport, lastPrinted } from './printed-lines.ts'
import { type LoggedException, outsideTracebacks, readExceptions } from './traceback.ts'

export interface Traces {
  readonly logFile: string
  /** Null for a program that leaves no error files. */
  readonly errorDirectory: string | null
  /** Without it one. */
  readonly nodes?: number
}

export type Findings = Pick<LaunchRecord, 'errors' | 'lastLine' | 'rankExit'>

/** The failure that comes first in `errors` is the cause, unless `rankExit` names a rank that left no error. */
export async function findRootCause(
  { logFile, errorDirectory, nodes }: Traces,
  end: LaunchEnd,
): Promise<Findings> {
  const files = errorDirectory === null ? [] : await readErrorFiles(errorDirectory, nodes)
  if (end.status === 'not-started' || end.status === 'cancelled' || isSuccess(end)) return { errors: files }
  const lines = await readLogLines(logFile)
  if (end.status === 'timed-out')
    return {
      errors: files.filter(({ message }) => !OF_OUR_SIGNAL.test(message)),
      lastLine: lastPrinted(lines),
    }
  const code = end.status === 'exited' ? end.exitCode : null
  return weigh(lines, files, code)
}

/** At the time limit torchrun gets SIGTERM from us, and leaves this where its own error file has a name. */
const OF_OUR_SIGNAL = /\bSignalException: Process \d+ got signal: 15\b/

/** For a program that ended well without any work: what it printed last may say why. */
export async function lastPrintedIn(logFile: string): Promise<string | null> {
  return lastPrinted(await readLogLines(logFile))
}

function isSuccess(end: LaunchEnd): boolean {
  return end.status === 'exited' && end.exitCode === 0
}

/** A rank that failed; `error` is null where it only ended. */
interface Suspect {
  readonly exit: RankExit | null
  readonly error: RankFailure | null
}

/** `code`: of the whole launch; null where a signal ended it. */
function weigh(lines: readonly LogLine[], files: readonly RankError[], code: number | null): Findings {
  const exceptions = readExceptions(lines)
  const exits = readLauncherReport(lines)
  const suspects = [
    ...exits.map((exit, index) => suspectOf(exit, index === 0, exits, lines, files, exceptions)),
    ...files.map((error) => ({ exit: null, error })),
    ...(exits.length === 0 ? fromSignal(lines, code) : []),
    ...(code === null ? [] : fromLog(exits, exceptions)),
  ]
  const cause = suspects.find(({ error }) => error === null || !isConsequence(error.message)) ?? suspects[0]
  const others = files.filter((file) => file !== cause?.error)
  if (cause?.error) return { errors: [cause.error, ...others] }
  return unexplained(lines, cause?.exit ?? null, others)
}

/** The rank's own error file tells most; a rank that a signal ended has none. */
function suspectOf(
  exit: RankExit,
  isRoot: boolean,
  exits: readonly RankExit[],
  lines: readonly LogLine[],
  files: readonly RankError[],
  exceptions: readonly LoggedException[],
): Suspect {
  const file = files.find(({ rank }) => rank === exit.rank)
  if (file) return { exit, error: file }
  if (exit.signal !== null) return { exit, error: signalled(exit.rank, exit.signal, lines) }
  const own = exceptions.findLast(({ rank }) => rank === exit.rank)
  if (own) return { exit, error: failureOf(own) }
  // torch names the rank only where there is a process group; of another rank's error file this is the same once more.
  const unnamed = exceptions.filter(({ rank, text }) => rank === null && !isCopied(text, files))
  const last = unnamed.at(-1)
  if (!isRoot || last === undefined) return { exit, error: null }
  // Whose it is, nothing tells: what the rank printed may be the reason too.
  if (isConsequence(last.text)) return { exit, error: withPrinted(failureOf(last), lines) }
  const silent = exits.filter(
    ({ rank, signal }) => signal === null && !files.some((one) => one.rank === rank),
  )
  const isCertain = unnamed.length >= silent.length && unnamed.every(({ text }) => text === last.text)
  return {
    exit,
    error: isCertain ? failureOf({ ...last, rank: exit.rank }) : withPrinted(failureOf(last), lines),
  }
}

/** Long messages are cut, and the log has the class with its module before it. */
const ENOUGH_CHARACTERS = 200

function isCopied(text: string, files: readonly RankError[]): boolean {
  const bare = text.replace(/^(?:\w+\.)+(?=\w)/, '')
  return files.some(({ message }) =>
    message.includes(':') ? text.includes(message.slice(0, ENOUGH_CHARACTERS)) : bare === message,
  )
}

function withPrinted(failure: RankFailure, lines: readonly LogLine[]): RankFailure {
  const printed = lastPrinted(outsideTracebacks(beforeReport(lines)))
  return printed === null
    ? failure
    : { ...failure, message: `${failure.message}; the log also has: ${printed}` }
}

/** Ranks that the launcher did not wait for. */
function fromLog(exits: readonly RankExit[], exceptions: readonly LoggedException[]): Suspect[] {
  const reported = new Set<number | null>(exits.map(({ rank }) => rank))
  const unnamed = exits.length > 0 ? [] : exceptions.filter(({ rank }) => rank === null)
  const named = exceptions.filter(({ rank }) => rank !== null && !reported.has(rank))
  return [unnamed.at(-1), ...named.toReversed()].flatMap((exception) =>
    exception === undefined ? [] : { exit: null, error: failureOf(exception) },
  )
}

/** Without a launcher that tells; null for a signal that was seen. */
function fromSignal(lines: readonly LogLine[], code: number | null): Suspect[] {
  const signal = code === null ? null : signalOf(code)
  if (signal !== null) return [{ exit: null, error: signalled(null, signal, lines) }]
  const words = code === null ? nativeWords(lines) : null
  if (words === null) return []
  return [{ exit: null, error: { rank: null, cause: causeOf(words), message: words, step: null } }]
}

function failureOf({ rank, text, location }: LoggedException): RankFailure {
  return { rank, cause: causeOf(text), message: text, step: null, ...(location === null ? {} : { location }) }
}

function signalled(rank: number | null, signal: string, lines: readonly LogLine[]): RankFailure {
  const own = lines.filter((line) => rank === null || line.rank === null || line.rank === rank)
  const words = signal === 'SIGABRT' ? nativeWords(own) : signal === 'SIGKILL' ? memoryWords(lines) : null
  const location = signal === 'SIGKILL' || signal === 'SIGTERM' ? null : faultLocation(own)
  const cause = causeOf(words ?? '')
  return {
    rank,
    cause: cause === 'error' ? 'signal' : cause,
    message: `ended by ${signal}${words === null ? '' : `: ${words}`}`,
    step: null,
    ...(location === null ? {} : { location }),
  }
}

/** What it printed last is the best there is. */
function unexplained(
  lines: readonly LogLine[],
  exit: RankExit | null,
  others: readonly RankFailure[],
): Findings {
  // The tracebacks are of ranks that failed later.
  const own = beforeReport(lines)
  const lastLine = lastPrinted(outsideTracebacks(own), exit?.rank) ?? lastPrinted(own, exit?.rank)
  const cause = lastLine === null ? 'error' : causeOf(lastLine)
  if (lastLine !== null && cause !== 'error') {
    return { errors: [{ rank: exit?.rank ?? null, cause, message: lastLine, step: null }, ...others] }
  }
  const rankExit = exit?.exitCode == null ? {} : { rankExit: { rank: exit.rank, exitCode: exit.exitCode } }
  return { errors: others, lastLine, ...rankExit }
}
