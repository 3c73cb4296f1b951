// The story of a ladder: its experiment is loaded, every training resolved, and what is not measured yet is launched.
import { UnfitMachineError } from '../errors.ts'
import type { Workspace } from '../io/folder/workspace.ts'
import { lockSite } from '../io/run/lock-site.ts'
import { checkLock } from '../judge/machine/preflight.ts'
import type { LockFacts } from '../measure/machine-record.ts'
import type { LadderJob, LadderStage } from './io/job.ts'
import { ladderRecord, type RecordedLadder, saveLadder } from './io/ladder-file.ts'
import { type LoadedLadder, loadLadder } from './io/load-ladder.ts'
import { type OpenLadder, openLadder } from './io/open-ladder.ts'
import { runSitting, type SittingResult } from './io/run-sitting.ts'
import { isConclusive } from './record.ts'
import { isFailedBaseline, remainingTrainings } from './remaining.ts'

export interface LadderOutcome {
  readonly record: RecordedLadder
  readonly workspace: Workspace
  /** The time of this call is too short for any launch between two of the baseline, however often it is called again. */
  readonly isTimeTooShort: boolean
  /** Titles of what is still to be measured. */
  readonly remaining: readonly string[]
  /** The baseline failed undisturbed, so another call would fail too. */
  readonly hasBaselineFailed: boolean
}

/** Throws a ConfigError before anything is launched, and an UnfitMachineError for a machine that cannot be measured on. */
export async function runLadder(job: LadderJob, stage: LadderStage): Promise<LadderOutcome> {
  // What is wrong with a rung is said before the machine is taken.
  await using loaded = await loadLadder(job, stage)
  await using site = await lockSite([loaded.question], job, stage)
  requireFreeMachine(site.lock())
  const opened = await openLadder(job.outDirectory, loaded.question.request.experiment, job.resume)
  const result = await runSitting(loaded, opened, site, job, stage)
  const record = await ladderRecord(loaded, result)
  await saveLadder(opened.workspace, record)
  requireLockHeld(site.lock())
  return { record, workspace: opened.workspace, ...(await whatRemains(loaded, opened, result, job)) }
}

async function whatRemains(
  { resolveAfter }: LoadedLadder,
  { earlier }: OpenLadder,
  { launches, isOutOfTime }: SittingResult,
  job: LadderJob,
): Promise<Pick<LadderOutcome, 'isTimeTooShort' | 'remaining' | 'hasBaselineFailed'>> {
  const ladder = await resolveAfter(launches)
  const launched = launches.slice(earlier.launches.length)
  const conclusive = new Set(launched.filter(isConclusive).map(({ training }) => training))
  // With --retry, a training that failed again would remain for ever.
  const remaining = remainingTrainings(ladder, launches, job).filter(({ hash }) => !conclusive.has(hash))
  return {
    isTimeTooShort: isOutOfTime && launched.every(({ training }) => training === ladder.baseline.hash),
    remaining: remaining.map(({ title }) => title),
    hasBaselineFailed: remaining.length > 0 && isFailedBaseline(launches.at(-1), ladder.baseline.hash),
  }
}

function requireFreeMachine(lock: LockFacts): void {
  if (lock.status === 'timed-out')
    throw new UnfitMachineError(
      `the machine is not free: ${lock.waitedFor} uses it. Wait until it ends, or raise launch.lock_minutes`,
    )
}

/** The check of a lost lock does not need the GPUs. */
const NOT_LOOKED_FOR = { status: 'not-measured', reason: 'the machine was examined before' } as const

function requireLockHeld(lock: LockFacts): void {
  const { status, detail } = checkLock(lock, NOT_LOOKED_FOR)
  if (status === 'failed')
    throw new UnfitMachineError(
      `lock: ${detail}. Continue with --resume, which keeps what was measured before`,
    )
}
