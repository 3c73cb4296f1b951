// The launches of a ladder -> what each rung gives, alone and on top of those before it.

import type { Experiment } from '../config/experiment.ts'
import { type Difference, differencesOf } from '../config/same-work/differences.ts'
import { checkComparability } from '../judge/checks/all.ts'
import { MATTERS } from '../measure/steady-state.ts'
import { type RunSummary, summarizeRuns } from '../measure/summary.ts'
import {
  baselineOf,
  baselineRuns,
  type FinishedMeasurement,
  logSecondsPerSample,
  type Measurement,
  measurementOf,
  NOT_MEASURED,
} from './measurement.ts'
import { type Effect, effectOf, type Noise, noiseOf } from './noise.ts'
import { isConclusive, type LadderRecord, type LadderRung, type TrainingHash } from './record.ts'

export type RungVerdict =
  | 'gain'
  /** Below what would matter. */
  | 'no-gain'
  | 'loss'
  /** The launches vary too much to decide, or their noise is unknown. */
  | 'open'
  /** The read-back is the same as without it. */
  | 'not-active'
  | 'not-comparable'
  | 'failed'
  | 'not-measured'

export interface RungResult {
  readonly measurement: Measurement
  /** Against the baseline. */
  readonly speedup: Effect | null
  /** Against the same training without this rung. */
  readonly gain: Effect | null
  /** What its read-back has otherwise than without it. */
  readonly readBack: readonly Difference[]
  /** Why it cannot be compared. */
  readonly problems: readonly string[]
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
  const noise = noiseOf(baselines.map((runs) => runs.flatMap((run) => logSecondsPerSample(run) ?? [])))
  const result = (hash: TrainingHash | null, before: TrainingHash): RungResult => {
    // Some recorded ladders have a sitting for each GPU of a host, and a few trainings in two of them.
    const isBoth = (sitting: number) => [hash, before].every((one) => hasFinishedIn(one, sitting, record))
    const both = record.sittings.findLastIndex((_, sitting) => isBoth(sitting))
    const measurement = hash === null ? NOT_MEASURED : measurementOf(hash, record, both < 0 ? null : both)
    const other =
      measurement.status === 'finished' ? measurementOf(before, record, measurement.sitting) : NOT_MEASURED
    const measured = other.status === 'finished' ? other : null
    const without = before === baselineOf(record) ? baselineFor(measurement, baselines) : measured
    return resultOf(measurement, without, record, noise)
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

function hasFinishedIn(hash: TrainingHash | null, sitting: number, { launches }: LadderRecord): boolean {
  return launches.some((launch) => {
    const hasFinished = isConclusive(launch) && launch.launched.outcome.status === 'finished'
    return launch.training === hash && launch.sitting === sitting && hasFinished
  })
}

type Compared = Pick<FinishedMeasurement, 'summary' | 'logSpeedup' | 'contrast' | 'problems'>

/** The baseline as it is compared with itself: its speedup is 1 by definition, and its scatter is in the other's. */
function baselineFor(measurement: Measurement, baselines: JudgedLadder['baselines']): Compared | null {
  if (measurement.status !== 'finished') return null
  const summary = baselines.flat().find(({ block }) => block === measurement.summary.block)
  return summary === undefined ? null : { summary, logSpeedup: 0, contrast: new Map(), problems: [] }
}

function resultOf(
  measurement: Measurement,
  without: Compared | null,
  { experiment }: LadderRecord,
  noise: Noise | null,
): RungResult {
  if (measurement.status !== 'finished')
    return { measurement, speedup: null, gain: null, readBack: [], problems: [], verdict: measurement.status }
  const { logSpeedup, contrast, summary } = measurement
  const speedup = logSpeedup === null ? null : effectOf(logSpeedup, noise, contrast)
  const before = without?.logSpeedup ?? null
  const gain =
    logSpeedup === null || without === null || before === null
      ? null
      : effectOf(logSpeedup - before, noise, contrast, without.contrast)
  const readBack = without === null ? [] : differencesOf(without.summary.effective, summary.effective, [])
  const isInactive = without !== null && readBack.length === 0
  const problems = [
    ...measurement.problems,
    ...(without?.problems ?? [])
      .filter((problem) => !measurement.problems.includes(problem))
      .map((problem) => `what it is compared with: ${problem}`),
    ...(without === null ? [] : betweenProblems(experiment, [without.summary, summary])),
  ]
  return { measurement, speedup, gain, readBack, problems, verdict: verdictOf(problems, gain, isInactive) }
}

/** The baseline launches around the launch have been checked; any other may be of another sitting, code or machine. */
function betweenProblems(
  experiment: Experiment,
  [without, own]: readonly [RunSummary, RunSummary],
): string[] {
  if (without.variant === 'baseline') return []
  return checkComparability({ experiment, measured: [without, own] })
    .filter(({ name, status }) => status === 'failed' && (name === 'same code' || name === 'same machine'))
    .map(({ name, detail }) => `${name}: ${detail}`)
}

/** A gain of less than 2% does not count, as elsewhere. */
export const NO_GAIN = Math.exp(MATTERS)

function verdictOf(problems: readonly string[], gain: Effect | null, isInactive: boolean): RungVerdict {
  if (problems.length > 0) return 'not-comparable'
  if (isInactive) return 'not-active'
  if (!gain?.bounds) return 'open'
  if (gain.bounds.lower > 1) return 'gain'
  if (gain.bounds.upper < 1) return 'loss'
  return gain.bounds.upper <= NO_GAIN ? 'no-gain' : 'open'
}
