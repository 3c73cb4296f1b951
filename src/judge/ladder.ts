// The launches of a ladder -> what each rung gives, alone and on top of those before it.

import { type Difference, differencesOf } from '../config/differences.ts'
import type { Experiment } from '../config/experiment.ts'
import type { LadderRecord, LadderRung, TrainingHash } from '../measure/ladder.ts'
import { MATTERS } from '../measure/steady-state.ts'
import { type RunSummary, summarizeRuns } from '../measure/summary.ts'
import { meanOf } from '../statistics/averages.ts'
import { type Effect, effectOf, meanContrast, type Noise, noiseOf } from './ladder-noise.ts'
import {
  baselineOf,
  baselineRuns,
  type Finished,
  logOf,
  NOT_MEASURED,
  type Standing,
  standingOf,
} from './ladder-standing.ts'
import { checkValidity } from './validity.ts'

export type RungVerdict =
  | 'gain'
  /** None that would matter. */
  | 'no gain'
  | 'loss'
  /** The launches scatter too much to tell, or nobody knows how much they do. */
  | 'open'
  /** The read-back is the same as without it. */
  | 'not active'
  | 'not comparable'
  | 'failed'
  | 'not measured'

export interface RungResult {
  /** By the last launch. */
  readonly standing: Standing
  /** All launches that count: those beside what they are compared with, of the code and devices of the last one. */
  readonly counting: readonly Finished[]
  /** Those of other code or devices. */
  readonly superseded: readonly Finished[]
  /** Against the baseline. */
  readonly speedup: Effect | null
  /** Against the same training without this rung. */
  readonly gain: Effect | null
  /** Held-out loss less that of the baseline launches beside it, in the mean. */
  readonly lossDelta: number | null
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
  const noise = noiseOf(baselines.map((runs) => runs.flatMap((run) => logOf(run) ?? [])))
  const pairOf = (own: Finished, before: TrainingHash): Pair => {
    if (before === baselineOf(record)) return { own, without: baselineFor(own, baselines) }
    const without = standingOf(before, record, own.sitting)
    return { own, without: without.status === 'finished' ? without : null }
  }
  const result = (hash: TrainingHash | null, before: TrainingHash): RungResult => {
    if (hash === null) return notCompared(NOT_MEASURED)
    // Calls that share a ladder may each have launched a rung, or what it is compared with: best both side by side.
    const besideIt = record.sittings.flatMap((_, sitting) => {
      if (![hash, before].every((one) => hasFinishedIn(one, sitting, record))) return []
      const own = standingOf(hash, record, sitting)
      return own.status === 'finished' ? [pairOf(own, before)] : []
    })
    const last = besideIt.at(-1)
    if (last !== undefined) return resultOf(besideIt, last, record, noise)
    const standing = standingOf(hash, record)
    if (standing.status !== 'finished') return notCompared(standing)
    const pair = pairOf(standing, before)
    return resultOf([pair], pair, record, noise)
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
  return launches.some(
    (launch) =>
      launch.training === hash && launch.sitting === sitting && launch.launched.outcome.status === 'finished',
  )
}

type Timed = Pick<Finished, 'logSpeedup' | 'contrast'>
type Compared = Timed & Pick<Finished, 'summary'>

/** The baseline as it is compared with itself: its speedup is 1 by definition, and its scatter is in the other's. */
function baselineFor({ summary: own }: Finished, baselines: JudgedLadder['baselines']): Compared | null {
  const summary = baselines.flat().find(({ block }) => block === own.block)
  return summary === undefined ? null : { summary, logSpeedup: 0, contrast: new Map() }
}

/** A launch, and what it is compared with. */
interface Pair {
  readonly own: Finished
  readonly without: Compared | null
}

const NO_NUMBERS = { speedup: null, gain: null, lossDelta: null }

function notCompared(standing: Exclude<Standing, { status: 'finished' }>): RungResult {
  const { status: verdict } = standing
  return { standing, counting: [], superseded: [], ...NO_NUMBERS, readBack: [], problems: [], verdict }
}

function resultOf(
  pairs: readonly Pair[],
  last: Pair,
  { experiment }: LadderRecord,
  noise: Noise | null,
): RungResult {
  const { own: standing, without } = last
  const isAsLast = (pair: Pair) =>
    pair === last || otherCodeOrMachine(experiment, [pair.own.summary, standing.summary]).length === 0
  const counting = pairs.filter(isAsLast)
  const speedup = meanEffect(
    counting.map(({ own }) => ({ own, without: ITSELF })),
    noise,
  )
  const gain = meanEffect(counting, noise)
  const deltas = counting.flatMap(({ own }) => own.lossDelta ?? [])
  const readBack =
    without === null ? [] : differencesOf(without.summary.effective, standing.summary.effective, [])
  const isInactive = without !== null && readBack.length === 0
  const problems = [
    ...new Set(counting.flatMap((pair) => [...pair.own.problems, ...betweenProblems(experiment, pair)])),
  ]
  return {
    standing,
    counting: counting.map(({ own }) => own),
    superseded: pairs.filter((pair) => !isAsLast(pair)).map(({ own }) => own),
    speedup,
    gain,
    lossDelta: deltas.length === 0 ? null : meanOf(deltas),
    readBack,
    problems,
    verdict: verdictOf(problems, gain, isInactive),
  }
}

/** What a speedup is over. */
const ITSELF = { logSpeedup: 0, contrast: new Map() }

/** The mean of those that have a speedup on both sides; null where none has. */
function meanEffect(
  pairs: readonly { readonly own: Timed; readonly without: Timed | null }[],
  noise: Noise | null,
): Effect | null {
  const timed = pairs.flatMap(({ own, without }) =>
    own.logSpeedup === null || without === null || without.logSpeedup === null
      ? []
      : [{ own, without, logRatio: own.logSpeedup - without.logSpeedup }],
  )
  if (timed.length === 0) return null
  return effectOf(
    meanOf(timed.map(({ logRatio }) => logRatio)),
    noise,
    meanContrast(timed.map(({ own }) => own.contrast)),
    meanContrast(timed.map(({ without }) => without.contrast)),
  )
}

/** The baseline is that beside the launch, which has been checked; any other may be of another sitting, code or machine. */
function betweenProblems(experiment: Experiment, { own, without }: Pair): string[] {
  if (without === null || without.summary.variant === 'baseline') return []
  return otherCodeOrMachine(experiment, [without.summary, own.summary])
}

function otherCodeOrMachine(experiment: Experiment, runs: readonly RunSummary[]): string[] {
  return checkValidity(experiment, runs)
    .filter(({ name, state }) => state === 'failed' && (name === 'same code' || name === 'same machine'))
    .map(({ name, detail }) => `${name}: ${detail}`)
}

/** A gain of less than 2% is none, as in other places. */
export const NO_GAIN = Math.exp(MATTERS)

function verdictOf(problems: readonly string[], gain: Effect | null, isInactive: boolean): RungVerdict {
  if (problems.length > 0) return 'not comparable'
  if (isInactive) return 'not active'
  if (!gain?.bounds) return 'open'
  if (gain.bounds.lower > 1) return 'gain'
  if (gain.bounds.upper < 1) return 'loss'
  return gain.bounds.upper <= NO_GAIN ? 'no gain' : 'open'
}
