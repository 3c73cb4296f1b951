// The story of a ladder: its experiment is loaded, every training resolved, and what is not measured yet is launched.
import { gatesOf } from '../config/experiment.ts'
import type { Overrides } from '../config/overrides/overrides.ts'
import type { Settings } from '../config/parse/mapping.ts'
import { ConfigError, UnfitMachineError } from '../errors.ts'
import { lockFolders } from '../io/folder/lock-folders.ts'
import type { Workspace } from '../io/folder/workspace.ts'
import { loadAll } from '../io/load/load-all.ts'
import { factsOf } from '../io/machine/lock.ts'
import { type ExaminedMachine, examineMachine, lockMachine } from '../io/machine/take-machine.ts'
import type { Progress } from '../io/run/progress.ts'
import { checkMachine } from '../judge/machine/machine.ts'
import { checkLock, lackOfGpus } from '../judge/machine/preflight.ts'
import type { Preflight } from '../measure/machine-record.ts'
import type { PlannedRun } from '../plan/plan.ts'
import { type Asked, dueOf, failedAsBaseline } from './due.ts'
import { climb } from './io/climb.ts'
import { type KeptLadder, ladderText } from './io/ladder-file.ts'
import { openLadder } from './io/open-ladder.ts'
import { ladderOf, type ResolvedLadder } from './io/resolve-ladder.ts'
import type { Resolved } from './io/resolve-trainings.ts'
import { ladderRun, launchId, launchTitle, planSitting } from './plan.ts'
import { isAnswer } from './record.ts'
import { renderLadderMarkdown } from './report.ts'

export interface LadderJob extends Asked {
  /** One. */
  readonly experimentFiles: readonly string[]
  readonly workingDirectory: string
  readonly outDirectory: string
  readonly overrides: Overrides
  readonly noiseFloorFolder: string
  /** Win over what the ladder itself sets in every launch. */
  readonly settings: Settings
  /** Of `performance.now()`; Infinity without a limit. */
  readonly deadlineMilliseconds: number
  /** Keep what was measured in outDirectory. */
  readonly resume: boolean
}

export interface LadderStage {
  readonly cancelled: AbortSignal
  readonly progress: (plan: readonly PlannedRun[], titleOf: (run: PlannedRun) => string) => Progress
  readonly note: (message: string) => void
}

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
  const { cancelled, note } = stage
  await using loaded = await loadAll({ ...job, cancelled, note, onWorktree: () => {} })
  const [question] = loaded.loaded
  if (question === undefined) throw new Error('the experiment was loaded, and is not there')
  const { experimentFile, experiment, host, revision } = question.request
  const settings = { ...experiment.ladder?.set, ...job.settings }
  const ladderAfter = ladderOf(experiment, settings, question.places, cancelled)
  // What is wrong with a rung is said before the machine is taken.
  refuseUnknown(job.only ?? [], await ladderAfter([]))
  await using folders = await lockFolders({ ...job, cancelled, questions: loaded.loaded })
  await using machineLock = await lockMachine([experiment], job.workingDirectory, { cancelled, onWait: note })
  const lock = () => factsOf(machineLock, ...folders)
  if (machineLock.facts.status === 'timed-out')
    throw new UnfitMachineError(`the machine is not free: ${machineLock.facts.waitedFor} has it`)
  const { workspace, earlier } = await openLadder(job.outDirectory, experiment.name, job.resume)
  refuseOtherSeed(experiment.design.seed, earlier.launches, job.outDirectory)
  const planAfter = async (launches: KeptLadder['launches']) => {
    const { trainings, rungs } = await ladderAfter(launches)
    return { trainings, rungs }
  }
  const plan = await planAfter(earlier.launches)
  let record: KeptLadder = { experimentFile, experiment, settings, ...plan, ...earlier }
  const due = async (launches: KeptLadder['launches']) => {
    const ladder = await ladderAfter(launches)
    return { baseline: ladder.baseline, trainings: dueOf(ladder, launches, job) }
  }
  const save = async (launches: KeptLadder['launches']) => {
    record = { ...record, launches, ...(await planAfter(launches)) }
    await workspace.saveLadder(ladderText(record), renderLadderMarkdown(record))
  }
  const { baseline, trainings } = await due(earlier.launches)
  let hasEndedForTime = false
  if (trainings.length > 0) {
    const machine = await examineMachine(experiment, job.workingDirectory, lock, cancelled)
    const preflight = fitPreflight(machine)
    const lack = lackOfGpus(gatesOf(experiment), preflight)
    if (lack !== null) note(`${experiment.name}: ${lack}`)
    const startedAt = new Date().toISOString()
    const sitting = earlier.sittings.length
    const baselineEvery = experiment.ladder?.baseline_every ?? trainings.length
    record = { ...record, sittings: [...earlier.sittings, { startedAt, host, revision, preflight }] }
    const planned = planSitting(baseline, trainings, baselineEvery).map((training, index) =>
      ladderRun(
        launchId(sitting, index, training.title),
        training === baseline,
        sitting,
        experiment.design.seed,
      ),
    )
    hasEndedForTime = await climb(earlier.launches, workspace, {
      ...{ cancelled, machine, sitting, baselineEvery, due, save },
      deadlineMilliseconds: job.deadlineMilliseconds,
      onStart: () => {},
      progress: stage.progress(planned, ({ id }) => launchTitle(id)),
    })
  }
  await save(record.launches)
  const { state, detail } = checkLock(lock(), NOT_LOOKED_FOR)
  if (state === 'failed')
    throw new UnfitMachineError(`lock: ${detail}; --resume keeps what was measured before`)
  const launched = record.launches.slice(earlier.launches.length)
  const isAnsweredNow = ({ hash }: Resolved) => launched.some((one) => one.training === hash && isAnswer(one))
  const missing = dueOf(await ladderAfter(record.launches), record.launches, job).filter(
    (training) => !isAnsweredNow(training),
  )
  const hasFailed = missing.length > 0 && failedAsBaseline(record.launches.at(-1), baseline.hash)
  return {
    record,
    workspace,
    hasNoRoom: hasEndedForTime && launched.every(({ training }) => training === baseline.hash),
    missing: missing.map(({ title }) => title),
    hasFailed,
  }
}

/** A rung is compared with launches of its own seed alone. */
function refuseOtherSeed(seed: number, earlier: KeptLadder['launches'], out: string): void {
  const other = earlier.find(({ launched }) => launched.outcome.run.seed !== seed)?.launched.outcome.run.seed
  if (other !== undefined)
    throw new ConfigError(
      `seed: got ${seed}, but ${out} was measured with ${other}; give --seed ${other}, or another --out`,
    )
}

function refuseUnknown(names: readonly string[], { rungs }: ResolvedLadder): void {
  const known = rungs.map(({ name }) => name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new ConfigError(`--rungs: got "${unknown}", expected some of ${known.join(', ')}`)
}

/** A lock that is lost is told without its GPUs. */
const NOT_LOOKED_FOR = { status: 'not-measured', reason: 'the machine was looked at before' } as const

function fitPreflight({ seen: { preflight } }: ExaminedMachine): Preflight {
  const problems = checkMachine(preflight, [], []).filter(({ state }) => state === 'failed')
  if (preflight !== null && problems.length === 0) return preflight
  throw new UnfitMachineError(
    `the machine is not fit to measure on: ${problems.map(({ name, detail }) => `${name}: ${detail}`).join('; ')}`,
  )
}
