// The story of a ladder: its experiment is loaded, every training resolved, and what is not measured yet is launched.
import type { Settings } from './config/mapping.ts'
import type { Overrides } from './config/overrides.ts'
import { RunError } from './errors.ts'
import { climb } from './io/ladder/climb.ts'
import { type KeptLadder, ladderText } from './io/ladder/ladder-file.ts'
import { openLadder } from './io/ladder/open-ladder.ts'
import { type Resolved, resolveLadder } from './io/ladder/resolve-ladder.ts'
import { loadAll } from './io/load-all.ts'
import { type ExaminedMachine, examineMachine, lockMachine } from './io/machine/take-machine.ts'
import type { Progress } from './io/progress.ts'
import type { Workspace } from './io/workspace.ts'
import { answerOf } from './judge/ladder.ts'
import { checkMachine } from './judge/machine.ts'
import type { Preflight } from './measure/machine-record.ts'
import { planSitting } from './plan/ladder.ts'
import type { PlannedRun } from './plan/plan.ts'
import { renderLadderMarkdown } from './report/ladder.ts'

export interface LadderJob {
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
  /** Launch again what failed. */
  readonly retry: boolean
  readonly part: 'alone' | 'sum' | 'all'
}

export interface LadderStage {
  readonly cancelled: AbortSignal
  readonly progress: (plan: readonly PlannedRun[], titleOf: (run: PlannedRun) => string) => Progress
  readonly note: (message: string) => void
}

export interface Climbed {
  readonly record: KeptLadder
  readonly workspace: Workspace
  /** Titles of what is still to be measured. */
  readonly missing: readonly string[]
}

/** Throws a ConfigError before anything is launched, and a RunError for a machine that cannot be measured on. */
export async function climbLadder(job: LadderJob, stage: LadderStage): Promise<Climbed> {
  const { cancelled, note } = stage
  await using loaded = await loadAll({ ...job, cancelled, note, onWorktree: () => {} })
  const [question] = loaded.loaded
  if (question === undefined) throw new Error('the experiment was loaded, and is not there')
  const { request, places } = question
  const { experimentFile, experiment, host, revision } = request
  const settings = { ...experiment.ladder?.set, ...job.settings }
  const { baseline, trainings, rungs } = await resolveLadder(experiment, settings, places, cancelled)
  await using lock = await lockMachine([experiment], job.workingDirectory, { cancelled, onWait: note })
  if (lock.facts.status !== 'held')
    throw new RunError(`the machine is not free: ${lock.facts.waitedFor} has it`)
  const { workspace, earlier } = await openLadder(job.outDirectory, experiment.name, job.resume)
  let record: KeptLadder = { experimentFile, experiment, settings, trainings, rungs, ...earlier }
  const save = async (launches: KeptLadder['launches']) => {
    record = { ...record, launches }
    await workspace.saveLadder(ladderText(record), renderLadderMarkdown(record))
  }
  const due = dueOf(record, trainings, job)
  if (due.length > 0) {
    const machine = await examineMachine(experiment, job.workingDirectory, lock.facts, cancelled)
    const preflight = fitPreflight(machine)
    const startedAt = new Date().toISOString()
    record = { ...record, sittings: [...earlier.sittings, { startedAt, host, revision, preflight }] }
    const planned = planSitting({
      baseline,
      due,
      baselineEvery: experiment.ladder?.baseline_every ?? due.length,
      sitting: earlier.sittings.length,
      seed: experiment.design.seed,
    })
    const titles = new Map(planned.map(({ run, training }) => [run.id, training.title]))
    await climb(planned, earlier.launches, workspace, {
      cancelled,
      machine,
      sitting: earlier.sittings.length,
      deadlineMilliseconds: job.deadlineMilliseconds,
      onStart: () => {},
      progress: stage.progress(
        planned.map(({ run }) => run),
        ({ id }) => titles.get(id) ?? id,
      ),
      save,
    })
  }
  await save(record.launches)
  const missing = dueOf(record, trainings, { ...job, retry: false }).map(({ title }) => title)
  return { record, workspace, missing }
}

/** In the order of the rungs, without what has an answer from an earlier sitting. */
function dueOf(record: KeptLadder, trainings: readonly Resolved[], { part, retry }: LadderJob): Resolved[] {
  const { rungs } = record
  const hashes = {
    alone: rungs.flatMap(({ alone, from }) => [from, alone]),
    sum: [...rungs.flatMap(({ sum }) => [sum]), trainings.at(-1)?.hash],
  }
  const wanted = new Set(part === 'all' ? [...hashes.alone, ...hashes.sum] : hashes[part])
  return trainings.slice(1).filter(({ hash }) => {
    const status = answerOf(hash, record)?.launched.outcome.status
    return wanted.has(hash) && (status === undefined || (retry && status === 'failed'))
  })
}

function fitPreflight({ seen: { preflight } }: ExaminedMachine): Preflight {
  const problems = checkMachine(preflight, [], []).filter(({ state }) => state === 'failed')
  if (preflight !== null && problems.length === 0) return preflight
  throw new RunError(
    `the machine is not fit to measure on: ${problems.map(({ name, detail }) => `${name}: ${detail}`).join('; ')}`,
  )
}
