// The story of a ladder: its experiment is loaded, every training resolved, and what is not measured yet is launched.
import { type Experiment, gatesOf } from '../config/experiment.ts'
import type { Settings } from '../config/parse/mapping.ts'
import { ConfigError, UnfitMachineError } from '../errors.ts'
import type { Workspace } from '../io/folder/workspace.ts'
import { loadAll } from '../io/load/load-all.ts'
import type { ExaminedMachine } from '../io/machine/take-machine.ts'
import type { Job } from '../io/run/job.ts'
import { lockSite, type Site } from '../io/run/lock-site.ts'
import type { Progress } from '../io/run/progress.ts'
import { checkMachine } from '../judge/machine/machine.ts'
import { checkLock, lackOfGpus } from '../judge/machine/preflight.ts'
import type { LockFacts, Preflight } from '../measure/machine-record.ts'
import type { PlannedRun } from '../plan/plan.ts'
import type { Request } from '../record/result.ts'
import { dueOf, type Remaining, remainingAfter, type Selection } from './due.ts'
import { climb, type Due } from './io/climb.ts'
import { type KeptLadder, ladderText } from './io/ladder-file.ts'
import { openLadder } from './io/open-ladder.ts'
import { ladderOf } from './io/resolve-ladder.ts'
import { launchTitle, sittingRuns } from './plan.ts'
import type { LadderRung, Sitting } from './record.ts'
import { renderLadderMarkdown } from './report.ts'

/** Of one experiment file. */
export interface LadderJob extends Job, Selection {
  /** Win over what the ladder itself sets in every launch. */
  readonly settings: Settings
  /** Of `performance.now()`; Infinity without a limit. */
  readonly deadlineMilliseconds: number
}

export interface LadderStage {
  readonly cancelled: AbortSignal
  readonly progress: (plan: readonly PlannedRun[], titleOf: (run: PlannedRun) => string) => Progress
  readonly note: (message: string) => void
}

export interface Climbed extends Remaining {
  readonly record: KeptLadder
  readonly workspace: Workspace
  /** The time of this call is too short for any launch between two of the baseline, however often it is called again. */
  readonly hasNoRoom: boolean
}

type Launches = KeptLadder['launches']

/** Throws a ConfigError before anything is launched, and an UnfitMachineError for a machine that cannot be measured on. */
export async function climbLadder(job: LadderJob, stage: LadderStage): Promise<Climbed> {
  const { cancelled } = stage
  await using call = await loadAll({ ...job, ...stage, onWorktree: () => {} })
  const [question] = call.loaded
  if (question === undefined) throw new Error('the experiment was loaded, and is not there')
  const { request, places } = question
  const { experiment } = request
  const settings = { ...experiment.ladder?.set, ...job.settings }
  const ladderAfter = ladderOf(experiment, settings, places, cancelled)
  // What is wrong with a rung is said before the machine is taken.
  requireKnown(job.only ?? [], (await ladderAfter([])).rungs)
  await using site = await lockSite(call.loaded, job, stage)
  requireFree(site.lock())
  const { workspace, earlier } = await openLadder(job.outDirectory, experiment, job.resume)
  const dueAfter = async (launches: Launches): Promise<Due> => {
    const ladder = await ladderAfter(launches)
    return { baseline: ladder.baseline, trainings: dueOf(ladder, launches, job) }
  }
  const due = await dueAfter(earlier.launches)
  const begun = due.trainings.length > 0 ? await beginSitting(request, site, stage) : null
  const sittings = [...earlier.sittings, ...(begun === null ? [] : [begun.sitting])]
  const save = async (launches: Launches): Promise<KeptLadder> => {
    const { trainings, rungs } = await ladderAfter(launches)
    const { experimentFile } = request
    const record = { experimentFile, experiment, settings, trainings, rungs, sittings, launches }
    await workspace.saveLadder(ladderText(record), renderLadderMarkdown(record))
    return record
  }
  const { launches, hasEndedForTime } =
    begun === null
      ? { launches: earlier.launches, hasEndedForTime: false }
      : await climb(earlier.launches, workspace, {
          ...climbOrder(experiment, due, earlier.sittings.length, stage),
          ...{ cancelled, machine: begun.machine, dueAfter, save },
          deadlineMilliseconds: job.deadlineMilliseconds,
          onStart: () => {},
        })
  const record = await save(launches)
  requireHeld(site.lock())
  const own = launches.slice(earlier.launches.length)
  return {
    record,
    workspace,
    hasNoRoom: hasEndedForTime && own.every(({ training }) => training === due.baseline.hash),
    ...remainingAfter(record, earlier.launches.length, job),
  }
}

/** Looks at the machine, once for all launches of the sitting. */
async function beginSitting(
  { experiment, host, revision }: Request,
  site: Site,
  { cancelled, note }: LadderStage,
): Promise<{ readonly machine: ExaminedMachine; readonly sitting: Sitting }> {
  const machine = await site.examine(experiment, cancelled)
  const preflight = requireFit(machine.seen.preflight)
  const lack = lackOfGpus(gatesOf(experiment), preflight)
  if (lack !== null) note(`${experiment.name}: ${lack}`)
  return { machine, sitting: { startedAt: new Date().toISOString(), host, revision, preflight } }
}

function climbOrder({ design, ladder }: Experiment, due: Due, sitting: number, { progress }: LadderStage) {
  const baselineEvery = ladder?.baseline_every ?? due.trainings.length
  const planned = sittingRuns(due, { sitting, baselineEvery, seed: design.seed })
  return { sitting, baselineEvery, progress: progress(planned, ({ id }) => launchTitle(id)) }
}

function requireKnown(names: readonly string[], rungs: readonly LadderRung[]): void {
  const known = rungs.map(({ name }) => name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new ConfigError(`--rungs: got "${unknown}", expected some of ${known.join(', ')}`)
}

function requireFree(lock: LockFacts): void {
  if (lock.status === 'timed-out')
    throw new UnfitMachineError(`the machine is not free: ${lock.waitedFor} has it`)
}

function requireFit(preflight: Preflight | null): Preflight {
  const problems = checkMachine(preflight, [], []).filter(({ state }) => state === 'failed')
  if (preflight !== null && problems.length === 0) return preflight
  throw new UnfitMachineError(
    `the machine is not fit to measure on: ${problems.map(({ name, detail }) => `${name}: ${detail}`).join('; ')}`,
  )
}

/** The GPUs, which change nothing about a lost lock, were looked at before. */
const GPUS_NOT_NEEDED = { status: 'not-measured', reason: 'the machine was looked at before' } as const

function requireHeld(lock: LockFacts): void {
  const { state, detail } = checkLock(lock, GPUS_NOT_NEEDED)
  if (state === 'failed')
    throw new UnfitMachineError(`lock: ${detail}; --resume keeps what was measured before`)
}
