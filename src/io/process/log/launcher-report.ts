// Which rank failed first and how it ended, as the launcher (torchrun, DeepSpeed, mpirun, srun) says at the end of a log.
import { constants } from 'node:os'
import type { LogLine } from './log-lines.ts'

export interface RankExit {
  readonly rank: number
  /** Null for a rank that a signal ended. */
  readonly exitCode: number | null
  readonly signal: string | null
}

/** In torchrun's last words. Other ranks that had failed too stand above it, below `Failures:`. */
const ROOT_CAUSE = /^Root Cause\b/
const FAILURES = /^Failures:$/
const RANK = /^\s*rank\s*: (\d{1,6}) \(local_rank: \d+\)$/
const EXIT_CODE = /^\s*exitcode\s*: (-?\d{1,3}) \(pid: \d+\)/

/** The first line of these tells it. */
const OTHER_LAUNCHERS: readonly RegExp[] = [
  // DeepSpeed's launch.py.
  /--local_rank=(?<rank>\d{1,6})\b.*\] exits with return code = (?<code>-?\d{1,3})$/,
  /^mpirun noticed that process rank (?<rank>\d{1,6}) .* exited on signal (?<signal>\d{1,2})\b/,
  /^srun: error: \S+: task (?<rank>\d{1,6}): (?<what>Killed|Out Of Memory|Segmentation fault|Aborted|Bus error|Terminated)\b/,
  /^srun: error: \S+: task (?<rank>\d{1,6}): Exited with exit code (?<code>\d{1,3})$/,
]
const SIGNAL_OF: Readonly<Record<string, string>> = {
  Killed: 'SIGKILL',
  'Out Of Memory': 'SIGKILL',
  'Segmentation fault': 'SIGSEGV',
  Aborted: 'SIGABRT',
  'Bus error': 'SIGBUS',
  Terminated: 'SIGTERM',
}

/** First the one that the launcher takes for the cause; none without a launcher's report. */
export function readLauncherReport(lines: readonly LogLine[]): RankExit[] {
  const texts = lines.map(({ text }) => text)
  const root = texts.findLastIndex((text) => ROOT_CAUSE.test(text))
  if (root < 0) return texts.flatMap((text) => otherExit(text) ?? []).slice(0, 1)
  const failures = texts.slice(0, root).findLastIndex((text) => FAILURES.test(text))
  const others = failures < 0 ? [] : rankExits(texts.slice(failures, root))
  // By SIGTERM torchrun itself ends the ranks that are left.
  return [...rankExits(texts.slice(root)), ...others.filter(({ signal }) => signal !== 'SIGTERM')]
}

function rankExits(texts: readonly string[]): RankExit[] {
  return texts.flatMap((text, index) => {
    const rank = numberIn(RANK, text)
    if (rank === null) return []
    const next = texts.findIndex((other, at) => at > index && RANK.test(other))
    const own = texts.slice(index + 1, next < 0 ? undefined : next)
    const code = numberIn(EXIT_CODE, own.find((other) => EXIT_CODE.test(other)) ?? '')
    return code === null ? [] : [exitOf(rank, code)]
  })
}

function otherExit(text: string): RankExit | null {
  for (const pattern of OTHER_LAUNCHERS) {
    const { rank, code, signal, what } = pattern.exec(text)?.groups ?? {}
    if (rank === undefined) continue
    if (what !== undefined) return { rank: Number(rank), exitCode: null, signal: SIGNAL_OF[what] ?? what }
    return exitOf(Number(rank), signal === undefined ? Number(code) : -Number(signal))
  }
  return null
}

function exitOf(rank: number, code: number): RankExit {
  const signal = signalOf(code)
  return { rank, exitCode: signal === null ? code : null, signal }
}

/** Of SIGABRT, SIGBUS, SIGKILL and SIGSEGV. Other codes above 128 are a program's own. */
const CODES_OF_SHELL = [134, 135, 137, 139]

/** Python gives -N for signal N; a shell in between gives 128 + N. */
export function signalOf(code: number): string | null {
  if (code >= 0 && !CODES_OF_SHELL.includes(code)) return null
  const number = code < 0 ? -code : code - 128
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? []
  return name ?? (code < 0 ? `signal ${number}` : null)
}

function numberIn(pattern: RegExp, text: string): number | null {
  const [, digits] = pattern.exec(text) ?? []
  return digits === undefined ? null : Number(digits)
}
