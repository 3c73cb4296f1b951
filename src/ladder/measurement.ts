// What the last launch of a training measured, compared with the baseline launches before and after it.

import { checkComparability } from '../judge/checks/all.ts'
import type { CompileCache, FailureReason } from '../measure/outcome.ts'
import { type FinishedRun, type RunSummary, summarizeRuns } from '../measure/summary.ts'
import { HELD_OUT_LOSS, SECONDS_PER_SAMPLE } from '../metrics/catalogue.ts'
import { meanOf, sumOf } from '../statistics/averages.ts'
import type { Contrast, ContrastTerm } from './noise.ts'
import { isConclusive, type LadderLaunch, type LadderRecord, type TrainingHash } from './record.ts'

export type Measurement =
  | FinishedMeasurement
  | { readonly status: 'failed'; readonly reason: FailureReason; readonly message: string }
  | { readonly status: 'not-measured' }

export interface FinishedMeasurement {
  readonly status: 'finished'
  readonly sitting: number
  readonly summary: RunSummary
  /** Of the compile and capture phases. */
  readonly compileSeconds: number
  readonly compileCache: CompileCache | null
  /** ln(baseline seconds per sample / its own); null where one of them has no steady state. */
  readonly logSpeedup: number | null
  /** The weight of each launch in it. */
  readonly contrast: Contrast
  /** Held-out loss less the mean of the baseline's with the same seed. */
  readonly lossDelta: number | null
  /** Why it cannot be compared with its baseline launches. */
  readonly problems: readonly string[]
}

export function baselineOf({ trainings }: Pick<LadderRecord, 'trainings'>): TrainingHash {
  return trainings[0]?.hash ?? ''
}

/** Prefers the launches of `sitting`; null without a conclusive launch. */
export function lastConclusiveLaunch(
  hash: TrainingHash,
  launches: readonly LadderLaunch[],
  sitting: number | null = null,
): LadderLaunch | null {
  const conclusive = launches.filter((launch) => launch.training === hash && isConclusive(launch))
  return conclusive.findLast((launch) => launch.sitting === sitting) ?? conclusive.at(-1) ?? null
}

export const NOT_MEASURED = { status: 'not-measured' } as const satisfies Measurement

export function measurementOf(
  hash: TrainingHash,
  record: LadderRecord,
  sitting: number | null = null,
): Measurement {
  const launch = lastConclusiveLaunch(hash, record.launches, sitting)
  const outcome = launch?.launched.outcome
  if (launch && outcome?.status === 'finished') return finishedMeasurement(launch, outcome, record)
  if (outcome?.status !== 'failed') return NOT_MEASURED
  return { status: 'failed', reason: outcome.reason, message: outcome.message }
}

function finishedMeasurement(
  launch: LadderLaunch,
  outcome: FinishedRun,
  record: LadderRecord,
): FinishedMeasurement {
  const baselines = baselineRuns(record, launch.sitting)
  // Timed over the same samples as all baseline launches of its sitting, so that these show when it has settled.
  const isOther = ({ run }: FinishedRun) => run.id !== outcome.run.id
  const summaries = summarizeRuns([...baselines.filter(isOther), outcome])
  const order = record.launches.map(({ launched }) => launched.outcome.run.id)
  const neighbours = neighboursOf(outcome.run.id, summaries.slice(0, -1), order)
  const summary = summaries.at(-1)
  if (summary === undefined) throw new Error('a finished run has no summary')
  const timed = neighbours.filter((run) => logSecondsPerSample(run) !== null)
  const [own, logs] = [logSecondsPerSample(summary), timed.flatMap((run) => logSecondsPerSample(run) ?? [])]
  const losses = neighbours.flatMap((run) => run.metrics[HELD_OUT_LOSS] ?? [])
  const loss = summary.metrics[HELD_OUT_LOSS]
  return {
    status: 'finished',
    sitting: launch.sitting,
    summary,
    compileSeconds: sumOf(
      outcome.metrics.phases
        .filter(({ name }) => name === 'compile' || name === 'capture')
        .map(({ seconds }) => seconds),
    ),
    compileCache: launch.launched.launch?.compileCache ?? null,
    logSpeedup: own === null || logs.length === 0 ? null : meanOf(logs) - own,
    contrast: new Map([
      contrastTerm(summary, -1),
      ...timed.map((run) => contrastTerm(run, 1 / timed.length)),
    ]),
    lossDelta: loss === undefined || losses.length === 0 ? null : loss - meanOf(losses),
    problems:
      neighbours.length === 0
        ? ['no baseline launch of its sitting finished undisturbed']
        : checkComparability({ experiment: record.experiment, measured: [...neighbours, summary] })
            .filter(({ status }) => status === 'failed')
            .map(({ name, detail }) => `${name}: ${detail}`),
  }
}

function contrastTerm({ runId, logStandardError }: RunSummary, coefficient: number): [string, ContrastTerm] {
  return [runId, { coefficient, standardError: logStandardError ?? 0 }]
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

/** Finished and undisturbed. */
export function baselineRuns(record: LadderRecord, sitting: number): FinishedRun[] {
  return record.launches.flatMap((launch) => {
    const { outcome } = launch.launched
    const isBaseline = launch.training === baselineOf(record) && launch.sitting === sitting
    return isBaseline && isConclusive(launch) && outcome.status === 'finished' ? [outcome] : []
  })
}

export function logSecondsPerSample({ metrics }: RunSummary): number | null {
  const time = metrics[SECONDS_PER_SAMPLE]
  return time === undefined ? null : Math.log(time)
}
