// What became of one run: finished with a whole record, or failed for a typed reason.
import type { PlannedRun } from '../plan/plan.ts'
import type { RunEnd } from '../read/events.ts'
import { type CompleteMetrics, isComplete, type MetricsRecord } from '../read/metrics-record.ts'
import { duration } from '../text/numbers.ts'
import type { Transports } from './machine/interconnect.ts'

/** What the supervisor saw of one launch; kept in result.json. */
export interface LaunchRecord {
  readonly runId: string
  readonly startedAt: string
  readonly result: LaunchEnd
  readonly errors: readonly RankFailure[]
  /** Where it failed without an error or ended without a step, what it printed last, or null for nothing. */
  readonly lastLine?: string | null | undefined
  /** Of a launch that timed out, when its metrics came, as far as they came while it ran. */
  readonly reports?: ReportTimes | undefined
  /**
   * Of the rank that failed first but left no error, as the launcher tells it, whose own exit code is 1 whatever that
   * was. What other ranks say in `errors` follows from it.
   */
  readonly rankExit?: { readonly rank: number; readonly exitCode: number } | undefined
  /** As NCCL logged them; null where it logged none that can be read, absent where it was not asked. */
  readonly interconnect?: Transports | null | undefined
  /** Null where it is not ours to see: the experiment names cache folders of its own. */
  readonly compileCache: CompileCache | null
  /** Null where the trainer's code is not ours to see. */
  readonly code: CodeHashes | null
}

export interface ReportTimes {
  /** From the start of the launch. */
  readonly lastSeconds: number
  readonly longestGapSeconds: number
}

/** Of the trainer's sources, right before its start and right after its end. */
export interface CodeHashes {
  readonly before: string
  readonly after: string
  /** The first that changed in between, by their paths in the working directory; absent where none did. */
  readonly changed?: readonly string[] | undefined
}

/** `cold`: the launch compiled what was not there yet. `warm`: it found all that it needed. `unused`: none was written. */
export type CompileCache = 'unused' | 'cold' | 'warm'

export type LaunchEnd =
  | { readonly status: 'exited'; readonly exitCode: number; readonly wallSeconds: number }
  | { readonly status: 'signalled'; readonly signal: string; readonly wallSeconds: number }
  | { readonly status: 'timed-out'; readonly wallSeconds: number }
  | {
      readonly status: 'cancelled'
      readonly wallSeconds: number
      /** What ended it, where that was not our own caller: an allocation that is over, a node that is gone. */
      readonly because?: string | undefined
    }
  | { readonly status: 'not-started'; readonly message: string }

export interface RankFailure {
  readonly rank: number | null
  readonly cause: 'out-of-memory' | 'diverged' | 'signal' | 'error'
  readonly message: string
  readonly step: number | null
  /** Where it was raised, if its message has no text of its own. */
  readonly location?: string | undefined
}

export type FailureReason =
  | 'not-started'
  | 'exit-code'
  | 'signal'
  | 'timed-out'
  | 'no-exit'
  | 'out-of-memory'
  | 'diverged'
  | 'no-metrics'
  | 'bad-metrics'

export type RunOutcome =
  | {
      readonly status: 'finished'
      readonly run: PlannedRun
      readonly wallSeconds: number
      readonly code: CodeHashes | null
      readonly metrics: CompleteMetrics
    }
  | {
      readonly status: 'failed'
      readonly run: PlannedRun
      readonly wallSeconds: number | null
      readonly reason: FailureReason
      readonly message: string
      readonly metrics: MetricsRecord | null
    }
  | {
      readonly status: 'cancelled'
      readonly run: PlannedRun
      readonly wallSeconds: number | null
      readonly because?: string | undefined
    }
  | { readonly status: 'not-run'; readonly run: PlannedRun; readonly reason: NotRunReason }

/**
 * Not needed after an earlier look had decided, beyond the budget, on a machine that is not fit to measure on, in vain
 * since one before it failed, some can never be compared or a required gate can never be judged, or the experiment was
 * stopped before it was done.
 */
export type NotRunReason =
  | 'decided'
  | 'budget'
  | 'unfit'
  | 'failed'
  | 'incomparable'
  | 'futile'
  | 'unmeasured'
  | 'stopped'

/** One planned run: what was seen of its process, if it was started, and what became of it. */
export interface Launched {
  readonly launch: LaunchRecord | null
  readonly outcome: RunOutcome
}

/** A run is finished only if its process ended with 0 and its metrics are whole; everything else says why. */
export function outcomeOf(
  run: PlannedRun,
  launch: LaunchRecord | null,
  metrics: MetricsRecord | null,
  notRun: NotRunReason = 'stopped',
): RunOutcome {
  if (launch === null) return { status: 'not-run', run, reason: notRun }
  const { result, errors, code } = launch
  const wallSeconds = result.status === 'not-started' ? null : result.wallSeconds
  if (result.status === 'cancelled')
    return {
      status: 'cancelled',
      run,
      wallSeconds,
      ...(result.because === undefined ? {} : { because: result.because }),
    }

  const failed = (reason: FailureReason, message: string): RunOutcome => ({
    status: 'failed',
    run,
    wallSeconds,
    reason,
    message,
    metrics,
  })
  if (result.status === 'not-started') return failed('not-started', result.message)
  const log = `runs/${run.id}/log.txt`
  const typed = errors.find(({ cause }) => cause === 'out-of-memory' || cause === 'diverged')
  if (typed) return failed(reasonOf(typed), describe(typed, metrics, log))
  // A trainer that writes events without end times out too; the events are the cause.
  if (result.status === 'timed-out' && metrics?.problem?.kind === 'too-large')
    return failed('bad-metrics', metrics.problem.message)
  if (result.status === 'timed-out') {
    const reason = reportedEnd(metrics) === null ? 'timed-out' : 'no-exit'
    return failed(reason, timeoutText(launch, result.wallSeconds, metrics, log))
  }
  if (metrics?.problem?.kind === 'not-finite') return failed('diverged', metrics.problem.message)
  // Of a rank that left no error, the exit is the cause, and the errors of others follow from it.
  const first = launch.rankExit === undefined ? errors[0] : undefined
  if (result.status === 'signalled') {
    const because = first ? `: ${describe(first, metrics, log)}` : saidText(launch, log)
    return failed('signal', `ended by ${result.signal}${because}`)
  }
  // Exit code 0 with the error file of a rank is a failure too.
  if (first) return failed(reasonOf(first), describe(first, metrics, log))
  if (result.exitCode !== 0) return failed('exit-code', exitText(launch, result.exitCode, log))
  if (metrics === null || metrics.problem?.kind === 'absent' || metrics.problem?.kind === 'empty') {
    const message = metrics?.problem?.message ?? 'the trainer wrote no metrics into --out'
    return failed('no-metrics', `${message}${idleText(launch, log)}`)
  }
  if (metrics.problem) return failed('bad-metrics', `${metrics.problem.message}${idleText(launch, log)}`)
  if (!isComplete(metrics)) return failed('bad-metrics', 'the metrics have no run_start or no run_end')
  return { status: 'finished', run, wallSeconds: result.wallSeconds, code, metrics }
}

/** Exit code 0 and not one step: what it printed last may say why, which nothing else does. */
export function isIdle({ result, errors }: LaunchRecord, outcome: RunOutcome): boolean {
  const isSuccess = result.status === 'exited' && result.exitCode === 0 && errors.length === 0
  return isSuccess && outcome.status === 'failed' && (outcome.metrics?.steps.seconds.length ?? 0) === 0
}

function reasonOf({ cause }: RankFailure): FailureReason {
  return cause === 'error' ? 'exit-code' : cause
}

function idleText(launch: LaunchRecord, log: string): string {
  return launch.lastLine === undefined ? '' : `; ${exitText(launch, 0, log)}`
}

/** `log`: its path in the output folder. */
export function exitText(launch: LaunchRecord, exitCode: number, log: string): string {
  const { rankExit, lastLine } = launch
  const code = rankExit ? `exit code ${rankExit.exitCode} of rank ${rankExit.rank}` : `exit code ${exitCode}`
  return lastLine === undefined ? `${code}; see ${log}` : `${code}${saidText(launch, log)}`
}

export function saidText({ lastLine }: LaunchRecord, log: string): string {
  if (lastLine === undefined) return ''
  return lastLine === null ? `; the trainer printed nothing into ${log}` : `; ${log} ends with: ${lastLine}`
}

/** These read the trainer's own events; the others infer the end from the last line, however far the training was. */
const READERS_OF_EVENTS = ['speedproof', 'recorder']

function reportedEnd(metrics: MetricsRecord | null): RunEnd | null {
  return metrics !== null && READERS_OF_EVENTS.includes(metrics.reader) ? metrics.end : null
}

/** Evaluation and saving can take longer than the steps between two reports. */
const SILENT_GAPS = 10
const SILENT_SECONDS = 60

function timeoutText(
  launch: LaunchRecord,
  wallSeconds: number,
  metrics: MetricsRecord | null,
  log: string,
): string {
  const limit = duration(wallSeconds)
  const said = saidText(launch, log)
  const [error] = launch.errors
  if (error)
    return `${describe(error, metrics, log)}. After that error the launch did not end within its limit of ${limit}`
  const end = reportedEnd(metrics)
  if (end !== null) {
    const { total_seconds: seconds } = end
    const after = seconds === undefined ? '' : ` after ${duration(seconds)}`
    return `training finished${after}, but its process did not exit within its limit of ${limit}. Look for a thread, a worker or a process group that is not shut down${said}`
  }
  const steps = metrics?.steps.seconds.length ?? 0
  if (steps === 0)
    return `no step was reported within its limit of ${limit}. Find out what the training waits for, or raise launch.timeout_minutes if it had not begun yet${said}`
  const { reports } = launch
  const silence = reports === undefined ? 0 : wallSeconds - reports.lastSeconds
  if (reports && silence > Math.max(SILENT_SECONDS, SILENT_GAPS * reports.longestGapSeconds))
    return `nothing was reported in the last ${duration(silence)} before its limit of ${limit} (last reported step ${steps}). Find out what the training waits for${said}`
  return `still running at its limit of ${limit} (last reported step ${steps}). Raise launch.timeout_minutes or shorten the run`
}

function describe(failure: RankFailure, metrics: MetricsRecord | null, log: string): string {
  const { rank, message } = failure
  const place = [rank === null ? null : `rank ${rank}`, stepText(failure, metrics)].filter(
    (part) => part !== null,
  )
  const hint = message.endsWith('SIGKILL') ? '. The kernel does that when memory runs out; see dmesg' : ''
  return `${place.length > 0 ? `${place.join(', ')}: ` : ''}${errorText(failure, log)}${hint}`
}

/** `log`: its path in the output folder. */
export function errorText({ message, location }: RankFailure, log: string): string {
  return location === undefined ? message : `${message} at ${location}; see ${log}`
}

function stepText({ step }: RankFailure, metrics: MetricsRecord | null): string | null {
  if (step !== null) return `step ${step}`
  if (reportedEnd(metrics) !== null) return 'after its end'
  const reported = metrics?.steps.seconds.length ?? 0
  return reported === 0 ? null : `after reported step ${reported}`
}
