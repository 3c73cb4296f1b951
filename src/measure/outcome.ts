// What became of one run: finished with a whole record, or failed for a typed reason.
import type { PlannedRun } from '../plan/plan.ts'
import { type CompleteMetrics, isComplete, type MetricsRecord } from '../read/metrics-record.ts'
import { duration } from '../text/numbers.ts'

/** What the supervisor saw of one launch; kept in result.json. */
export interface LaunchRecord {
  readonly runId: string
  readonly startedAt: string
  readonly result: LaunchEnd
  readonly errors: readonly RankFailure[]
  /** Where it failed without an error or ended without a step, what it printed last, or null for nothing. */
  readonly lastLine?: string | null | undefined
  /** Of the rank that failed first, as torchrun tells it: its own exit code is 1 whatever that was. */
  readonly rankExit?: { readonly rank: number; readonly exitCode: number } | undefined
  /** Null where it is not ours to see: the experiment names cache folders of its own. */
  readonly compileCache: CompileCache | null
  /** Null where the trainer's code is not ours to see. */
  readonly code: CodeHashes | null
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
  | { readonly status: 'cancelled'; readonly wallSeconds: number }
  | { readonly status: 'not-started'; readonly message: string }

export interface RankFailure {
  readonly rank: number | null
  readonly cause: 'out-of-memory' | 'diverged' | 'error'
  readonly message: string
  readonly step: number | null
}

export type FailureReason =
  | 'not-started'
  | 'exit-code'
  | 'signal'
  | 'timed-out'
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
  | { readonly status: 'cancelled'; readonly run: PlannedRun; readonly wallSeconds: number | null }
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
  if (result.status === 'cancelled') return { status: 'cancelled', run, wallSeconds }

  const failed = (reason: FailureReason, message: string): RunOutcome => ({
    status: 'failed',
    run,
    wallSeconds,
    reason,
    message,
    metrics,
  })
  if (result.status === 'not-started') return failed('not-started', result.message)
  const typed = errors.find((error) => error.cause !== 'error')
  if (typed) return failed(typed.cause === 'diverged' ? 'diverged' : 'out-of-memory', describe(typed))
  // A trainer that writes events without end times out too; the events are the cause.
  if (result.status === 'timed-out' && metrics?.problem?.kind === 'too-large')
    return failed('bad-metrics', metrics.problem.message)
  if (result.status === 'timed-out') {
    const step = metrics?.steps.seconds.length ?? 0
    const reached = step === 0 ? 'no step reported' : `last reported step ${step}`
    const limit = duration(result.wallSeconds)
    return failed(
      'timed-out',
      `still running at its limit of ${limit} (${reached}). Raise launch.timeout_minutes or shorten the run`,
    )
  }
  if (metrics?.problem?.kind === 'not-finite') return failed('diverged', metrics.problem.message)
  if (result.status === 'signalled') return failed('signal', `ended by ${result.signal}`)
  const [first] = errors
  // Exit code 0 with the error file of a rank is a failure too.
  if (result.exitCode !== 0 || first) {
    const message = first ? describe(first) : exitText(launch, result.exitCode, `runs/${run.id}/log.txt`)
    return failed('exit-code', message)
  }
  if (metrics === null || metrics.problem?.kind === 'absent' || metrics.problem?.kind === 'empty') {
    const message = metrics?.problem?.message ?? 'the trainer wrote no metrics into --out'
    return failed('no-metrics', `${message}${saidText(launch, run)}`)
  }
  if (metrics.problem) return failed('bad-metrics', `${metrics.problem.message}${saidText(launch, run)}`)
  if (!isComplete(metrics)) return failed('bad-metrics', 'the metrics have no run_start or no run_end')
  return { status: 'finished', run, wallSeconds: result.wallSeconds, code, metrics }
}

/** Exit code 0 and not one step: what it printed last may say why, which nothing else does. */
export function isIdle({ result, errors }: LaunchRecord, outcome: RunOutcome): boolean {
  const isSuccess = result.status === 'exited' && result.exitCode === 0 && errors.length === 0
  return isSuccess && outcome.status === 'failed' && (outcome.metrics?.steps.seconds.length ?? 0) === 0
}

function saidText(launch: LaunchRecord, run: PlannedRun): string {
  return launch.lastLine === undefined ? '' : `; ${exitText(launch, 0, `runs/${run.id}/log.txt`)}`
}

/** `log`: its path in the output folder. */
export function exitText({ lastLine, rankExit }: LaunchRecord, exitCode: number, log: string): string {
  const code =
    rankExit === undefined || rankExit.exitCode === exitCode
      ? `exit code ${exitCode}`
      : `exit code ${rankExit.exitCode} of rank ${rankExit.rank}`
  if (lastLine === undefined) return `${code}; see ${log}`
  if (lastLine === null) return `${code}; the trainer printed nothing into ${log}`
  return `${code}; ${log} ends with: ${lastLine}`
}

function describe({ rank, step, message }: RankFailure): string {
  const place = [rank === null ? null : `rank ${rank}`, step === null ? null : `step ${step}`].filter(
    (part) => part !== null,
  )
  return place.length > 0 ? `${place.join(', ')}: ${message}` : message
}
