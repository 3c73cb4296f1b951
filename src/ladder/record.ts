// What a ladder consists of: trainings that differ by rungs, measured in one or more sittings.
import type { Experiment } from '../config/experiment.ts'
import type { Settings } from '../config/parse/mapping.ts'
import type { Preflight } from '../measure/machine-record.ts'
import type { Launched } from '../measure/outcome.ts'

/** Trainings are named by their hash, so that two rungs that come to the same training are measured once. */
export type TrainingHash = string

export interface LadderTraining {
  readonly hash: TrainingHash
  readonly title: string
  /** Keys outside of `speed:` in which it differs from the baseline: it does other work. */
  readonly otherWork: readonly string[]
}

export interface LadderRung {
  readonly name: string
  readonly needs: readonly string[]
  readonly predicts: string | null
  readonly note: string | null
  readonly alone: TrainingHash
  /** What `alone` is compared with: the baseline, or the baseline with what the rung needs. */
  readonly from: TrainingHash
  /** Null if the trainer refuses it because it needs a rung that was left out. */
  readonly sum: TrainingHash | null
  /** The sum without this rung. */
  readonly sumBefore: TrainingHash
  /** It failed in the sum, and is in no later one. */
  readonly isLeftOut: boolean
}

/** One call: what happens in it shares a machine and a time. Speedups compare only within it. */
export interface Sitting {
  readonly startedAt: string
  readonly host: string
  readonly revision: string | null
  readonly preflight: Preflight
}

export interface LadderLaunch {
  /** Index into `sittings`. */
  readonly sitting: number
  readonly training: TrainingHash
  readonly launched: Launched
  /** What the machine did to it; null if nothing. */
  readonly disturbance: string | null
}

export interface LadderRecord {
  readonly experimentFile: string
  /** As changed by flags. */
  readonly experiment: Experiment
  /** What was set in every launch. */
  readonly settings: Settings
  /** In the order of their launches; the first is the baseline, the last the optimized variant. */
  readonly trainings: readonly LadderTraining[]
  readonly rungs: readonly LadderRung[]
  readonly sittings: readonly Sitting[]
  /** In their order. */
  readonly launches: readonly LadderLaunch[]
}

/** It finished or failed, and the machine did not disturb it. */
export function isConclusive({ launched: { outcome }, disturbance }: LadderLaunch): boolean {
  return disturbance === null && (outcome.status === 'finished' || outcome.status === 'failed')
}
