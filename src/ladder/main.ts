// The story of a ladder: its experiment is loaded, every training resolved, and what is not measured yet is launched.
import { UnfitMachineError } from '../errors.ts'
import type { Workspace } from '../io/folder/workspace.ts'
import { lockSite } from '../io/run/lock-site.ts'
import { checkLock } from '../judge/machine/preflight.ts'
import type { LockFacts } from '../measure/machine-record.ts'
import { dueOf, failedAsBaseline } from './due.ts'
import type { LadderJob, LadderStage } from './io/job.ts'
import { type KeptLadder, ladderRecord, saveLadder } from './io/ladder-file.ts'
import { type LoadedLadder, loadLadder } from './io/load-ladder.ts'
import { type OpenLadder, openLadder } from './io/open-ladder.ts'
import { runSitting, type SittingEnd } from './io/run-sitting.ts'
import { isAnswer } from './record.ts'

export interface Climbed {
  readonly record: KeptLadder
  readonly workspace: Workspace
  /** The time of this call is too short for any launch between two of the baseline, however often it is called again. */
  readonly hasNoRoom: boolean
  /** Titles of what is still to be measured. */
  readonly missing: readonly string[]
  /** The baseline failed by itself, so that calling again leads nowhere. */
  readonly hasFailed: boolean
}

/** Throws a ConfigError before anything is launched, and an UnfitMachineError for a machine that cannot be measured on. */
export async function climbLadder(job: LadderJob, stage: LadderStage): Promise<Climbed> {
  // What is wrong with a rung is said before the machine is taken.
  await using loaded = await loadLadder(job, stage)
  await using site = await lockSite([loaded.question], job, stage)
  requireFreeMachine(site.lock())
  const folder = await openLadder(job.outDirectory, loaded.question.request.experiment, job.resume)
  const ended = await runSitting(loaded, folder, site, job, stage)
  const record = await ladderRecord(loaded, ended)
  await saveLadder(folder.workspace, record)
  requireLockHeld(site.lock())
  return { record, workspace: folder.workspace, ...(await remainderOf(loaded, folder, ended, job)) }
}

async function remainderOf(
  { ladderAfter }: LoadedLadder,
  { earlier }: OpenLadder,
  { launches, hasEndedForTime }: SittingEnd,
  job: LadderJob,
): Promise<Pick<Climbed, 'hasNoRoom' | 'missing' | 'hasFailed'>> {
  const ladder = await ladderAfter(launches)
  const launched = launches.slice(earlier.launches.length)
  const answered = new Set(launched.filter(isAnswer).map(({ training }) => training))
  // With --retry, what failed again would be due for ever.
  const missing = dueOf(ladder, launches, job).filter(({ hash }) => !answered.has(hash))
  return {
    hasNoRoom: hasEndedForTime && launched.every(({ training }) => training === ladder.baseline.hash),
    missing: missing.map(({ title }) => title),
    hasFailed: missing.length > 0 && failedAsBaseline(launches.at(-1), ladder.baseline.hash),
  }
}

function requireFreeMachine(lock: LockFacts): void {
  if (lock.status === 'timed-out')
    throw new UnfitMachineError(`the machine is not free: ${lock.waitedFor} has it`)
}

/** A lock that is lost is told without its GPUs. */
const NOT_LOOKED_FOR = { status: 'not-measured', reason: 'the machine was looked at before' } as const

function requireLockHeld(lock: LockFacts): void {
  const { state, detail } = checkLock(lock, NOT_LOOKED_FOR)
  if (state === 'failed')
    throw new UnfitMachineError(`lock: ${detail}; --resume keeps what was measured before`)
}
