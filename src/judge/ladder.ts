// The launches of a ladder -> what each rung gives, alone and on top of those before it.
import { type Difference, differencesOf } from '../config/same-work.ts'
import {
  isAnswer,
  type LadderLaunch,
  type LadderRecord,
  type LadderRung,
  type TrainingHash,
} from '../measure/ladder.ts'
import type { CompileCache, FailureReason } from '../measure/outcome.ts'
import { type FinishedRun, type RunSummary, summarizeRuns } from '../measure/summary.ts'
import { type Effect, effectOf, type Noise, noiseOf } from './ladder-noise.ts'
import { checkValidity } from './validity.ts'

/** Where a training stands beside the baseline launches around it. */
export type Standing =
  | Finished
  | { readonly status: 'failed'; readonly reason: FailureReason; readonly message: string }
  | { readonly status: 'not measured' }

export interface Finished {
  readonly status: 'finished'
  readonly summary: RunSummary
  /** Of the compile and capture phases. */
  readonly compileSeconds: number
  readonly compileCache: CompileCache | null
  /** ln(baseline seconds per sample / its own); null where one of them has no steady state. */
  readonly logSpeedup: number | null
  /** Of logSpeedup, in units of that of one launch. */
  readonly variance: number
  /** Held-out loss less the mean of the baseline's with the same seed. */
  readonly lossDelta: number | null
  /** Why it cannot be compared with the baseline. */
  readonly problems: readonly string[]
}

export type RungVerdict =
  | 'gain'
  | 'no gain'
  | 'loss'
  /** Only one baseline launch: how much it scatters is unknown. */
  | 'open'
  /** The read-back is the same as without it. */
  | 'not active'
  | 'not comparable'
  | 'failed'
  | 'not measured'

export interface RungResult {
  readonly standing: Standing
  /** Against the baseline. */
  readonly speedup: Effect | null
  /** Against the same training without this rung. */
  readonly gain: Effect | null
  /** What its read-back has otherwise than without it. */
  readonly readBack: readonly Difference[]
  readonly verdict: RungVerdict
}

export interface JudgedRung {
  readonly rung: LadderRung
  readonly alone: RungResult
  readonly sum: RungResult
}

export interface JudgedLadder {
  readonly rungs: readonly JudgedRung[]
  /** The optimized variant as a whole, against the baseline. */
  readonly optimized: RungResult
  /** Finished and undisturbed, for each sitting. */
  readonly baselines: readonly (readonly RunSummary[])[]
  readonly noise: Noise | null
}

export function judgeLadder(record: LadderRecord): JudgedLadder {
  const baselines = record.sittings.map((_, sitting) => summarizeRuns(baselineRuns(record, sitting)))
  const noise = noiseOf(baselines.map((runs) => runs.flatMap((run) => logOf(run) ?? [])))
  const standings = new Map(record.trainings.map(({ hash }) => [hash, standingOf(hash, record)]))
  const result = (hash: TrainingHash | null, before: TrainingHash): RungResult => {
    const standing = (hash === null ? undefined : standings.get(hash)) ?? NOT_MEASURED
    const other = standings.get(before)
    const measured = other?.status === 'finished' ? other : null
    return resultOf(
      standing,
      before === baselineOf(record) ? baselineFor(standing, baselines) : measured,
      noise,
    )
  }
  return {
    rungs: record.rungs.map((rung) => ({
      rung,
      alone: result(rung.alone, rung.from),
      sum: result(rung.sum, rung.sumBefore),
    })),
    optimized: result(record.trainings.at(-1)?.hash ?? '', baselineOf(record)),
    baselines,
    noise,
  }
}

export function baselineOf({ trainings }: Pick<LadderRecord, 'trainings'>): TrainingHash {
  return trainings[0]?.hash ?? ''
}

/** The last that gave an answer; null if none did. */
export function answerOf(hash: TrainingHash, launches: readonly LadderLaunch[]): LadderLaunch | null {
  return launches.findLast((launch) => launch.training === hash && isAnswer(launch)) ?? null
}

const NOT_MEASURED: Standing = { status: 'not measured' }

function standingOf(hash: TrainingHash, record: LadderRecord): Standing {
  const launch = answerOf(hash, record.launches)
  const outcome = launch?.launched.outcome
  if (launch && outcome?.status === 'finished') return finishedStanding(launch, outcome, record)
  if (outcome?.status !== 'failed') return NOT_MEASURED
  return { status: 'failed', reason: outcome.reason, message: outcome.message }
}

function finishedStanding(launch: LadderLaunch, outcome: FinishedRun, record: LadderRecord): Finished {
  const baselines = baselineRuns(record, launch.sitting)
  // Timed over the same steps as all baseline launches of its sitting, so that these tell when it has settled.
  const isOther = ({ run }: FinishedRun) => run.id !== outcome.run.id
  const summaries = summarizeRuns([...baselines.filter(isOther), outcome])
  const order = record.launches.map(({ launched }) => launched.outcome.run.id)
  const neighbours = neighboursOf(outcome.run.id, summaries.slice(0, -1), order)
  const summary = summaries.at(-1)
  if (summary === undefined) throw new Error('a finished run has no summary')
  const [own, logs] = [logOf(summary), neighbours.flatMap((run) => logOf(run) ?? [])]
  const losses = neighbours.flatMap((run) => run.metrics.val_loss ?? [])
  const loss = summary.metrics.val_loss
  return {
    status: 'finished',
    summary,
    compileSeconds: sum(
      outcome.metrics.phases
        .filter(({ name }) => name === 'compile' || name === 'capture')
        .map(({ seconds }) => seconds),
    ),
    compileCache: launch.launched.launch?.compileCache ?? null,
    logSpeedup: own === null || logs.length === 0 ? null : mean(logs) - own,
    variance: 1 + 1 / logs.length,
    lossDelta: loss === undefined || losses.length === 0 ? null : loss - mean(losses),
    problems:
      neighbours.length === 0
        ? ['no baseline launch of its sitting finished undisturbed']
        : checkValidity(record.experiment, [...neighbours, summary])
            .filter(({ state }) => state === 'failed')
            .map(({ name, detail }) => `${name}: ${detail}`),
  }
}

/** The nearest baseline launch before, and the nearest after. */
function neighboursOf(
  runId: string,
  baselines: readonly RunSummary[],
  order: readonly string[],
): RunSummary[] {
  const place = order.indexOf(runId)
  const before = baselines.findLast((run) => order.indexOf(run.runId) < place)
  const after = baselines.find((run) => order.indexOf(run.runId) > place)
  return [before, after].filter((run) => run !== undefined)
}

function baselineRuns(record: LadderRecord, sitting: number): FinishedRun[] {
  return record.launches.flatMap((launch) => {
    const { outcome } = launch.launched
    const isBaseline = launch.training === baselineOf(record) && launch.sitting === sitting
    return isBaseline && isAnswer(launch) && outcome.status === 'finished' ? [outcome] : []
  })
}

type Compared = Pick<Finished, 'summary' | 'logSpeedup' | 'variance'>

/** The baseline as it is compared with itself: its speedup is 1 by definition, and its scatter is in the other's. */
function baselineFor(standing: Standing, baselines: JudgedLadder['baselines']): Compared | null {
  if (standing.status !== 'finished') return null
  const summary = baselines.flat().find(({ block }) => block === standing.summary.block)
  return summary === undefined ? null : { summary, logSpeedup: 0, variance: 0 }
}

function resultOf(standing: Standing, without: Compared | null, noise: Noise | null): RungResult {
  if (standing.status !== 'finished')
    return { standing, speedup: null, gain: null, readBack: [], verdict: standing.status }
  const { logSpeedup, variance, summary } = standing
  const speedup = logSpeedup === null ? null : effectOf(logSpeedup, variance, noise)
  const before = without?.logSpeedup ?? null
  const gain =
    logSpeedup === null || before === null
      ? null
      : effectOf(logSpeedup - before, variance + (without?.variance ?? 0), noise)
  const readBack = without === null ? [] : differencesOf(without.summary.effective, summary.effective, [])
  const isInactive = without !== null && readBack.length === 0
  return { standing, speedup, gain, readBack, verdict: verdictOf(standing, gain, isInactive) }
}

function verdictOf({ problems }: Finished, gain: Effect | null, isInactive: boolean): RungVerdict {
  if (problems.length > 0) return 'not comparable'
  if (isInactive) return 'not active'
  if (!gain?.bounds) return 'open'
  if (gain.bounds.lower > 1) return 'gain'
  return gain.bounds.upper < 1 ? 'loss' : 'no gain'
}

function logOf({ secondsPerSample }: RunSummary): number | null {
  return secondsPerSample === null ? null : Math.log(secondsPerSample)
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
