// The story: experiments are loaded, planned, run, measured, judged and reported.
import { assess } from './assess.ts'
import { gatesOf } from './config/experiment.ts'
import type { Overrides } from './config/overrides/overrides.ts'
import { type CombinedFolder, saveCombined } from './io/folder/combined-folder.ts'
import { lockFolders } from './io/folder/lock-folders.ts'
import { loadAll } from './io/load/load-all.ts'
import { requireFloorFolder, storeNoiseFloor } from './io/load/noise-floors.ts'
import { type Opened, openAll } from './io/load/resume.ts'
import { factsOf } from './io/machine/lock.ts'
import { examineMachine, lockMachine } from './io/machine/take-machine.ts'
import type { Progress } from './io/run/progress.ts'
import { runAll } from './io/run/run-all.ts'
import { runsToReevaluate } from './judge/checks/reevaluation.ts'
import { earlyStop } from './judge/early-stop.ts'
import { isFit } from './judge/machine/machine.ts'
import { lackOfGpus } from './judge/machine/preflight.ts'
import { standingOf } from './judge/repeat.ts'
import { isDecided } from './judge/verdict.ts'
import type { LockFacts } from './measure/machine-record.ts'
import type { Launched } from './measure/outcome.ts'
import type { Reevaluation } from './measure/reevaluation.ts'
import { type PlannedRun, planRuns } from './plan/plan.ts'
import { type Combined, combine, nameOf } from './record/combined.ts'
import type { Result } from './record/result.ts'

export interface Job {
  /** One for each question; at least one. */
  readonly experimentFiles: readonly string[]
  readonly workingDirectory: string
  readonly outDirectory: string
  readonly overrides: Overrides
  /** Where noise floors are kept. */
  readonly noiseFloorFolder: string
  /** Keep the finished blocks of an interrupted experiment in outDirectory. */
  readonly resume: boolean
}

/** Where the story is told: a terminal or a workflow step. */
export interface Stage {
  readonly cancelled: AbortSignal
  /** `name`: of all experiments of the call. */
  readonly progress: (plan: readonly PlannedRun[], name: string) => Progress
  readonly note: (message: string) => void
  readonly onWorktree: (folder: string) => void
  readonly onStart: (marker: string) => void
  readonly publish: (combined: Combined, folder: CombinedFolder) => Promise<void>
}

/** All are loaded before the first is run, and folder and machine are locked until the last is done. */
export async function main(job: Job, stage: Stage): Promise<Combined> {
  await using questions = await loadAll({ ...job, ...stage })
  const experiments = questions.loaded.map(({ request }) => request.experiment)
  if (experiments.some(({ mode }) => mode === 'aa')) await requireFloorFolder(job.noiseFloorFolder)
  await using folders = await lockFolders({ ...job, ...stage, questions: questions.loaded })
  await using machine = await lockMachine(experiments, job.workingDirectory, {
    cancelled: stage.cancelled,
    onWait: stage.note,
  })
  const lock = () => factsOf(machine, ...folders)
  const opened = await openAll(questions.loaded, lock(), job.resume)
  const answers: Answer[] = []
  for (const question of opened) {
    // What broke one off, such as a full disk or a process that is left, would spoil the next.
    const isOver = answers.some(({ problem }) => problem !== null)
    const on = isOver ? { ...stage, cancelled: AbortSignal.abort() } : stage
    if (opened.length > 1) stage.note(`${question.request.experiment.name}:`)
    answers.push(await answer(question, nameOf(experiments), lock, job, on))
  }
  const combined = combine(answers.map(({ result }) => result))
  const folder = await saveCombined(job.outDirectory, combined, opened)
  try {
    for (const { result } of answers) await keepNoiseFloor(result, job, stage)
  } finally {
    await stage.publish(combined, folder)
  }
  for (const { problem } of answers) if (problem !== null) throw problem
  return combined
}

interface Answer {
  readonly result: Result
  /** What broke off its plan, if anything did. */
  readonly problem: Error | null
}

async function answer(
  opened: Opened,
  name: string,
  lock: () => LockFacts,
  { workingDirectory }: Job,
  { cancelled, progress, note, onStart }: Stage,
): Promise<Answer> {
  const { request, workspace } = opened
  const plan = planRuns(request.experiment)
  const machine = await examineMachine(request.experiment, workingDirectory, lock, cancelled)
  const lack = lackOfGpus(gatesOf(request.experiment), machine.seen.preflight)
  if (lack !== null && !cancelled.aborted)
    note(`${request.experiment.name}: ${lack}, and the verdict stays open`)
  const judged = (launched: readonly Launched[], reevaluation?: Reevaluation) =>
    assess(request, launched, machine.seen, reevaluation)
  const { launched, reevaluation, problem } = await runAll(opened, plan, {
    cancelled,
    onStart,
    progress: progress(plan, name),
    machine,
    isFit: () => isFit(machine.seen.preflight),
    standing: (soFar) => standingOf(soFar, machine.seen),
    earlyStop: (soFar) => earlyStop(judged(soFar)),
    isDecided: (soFar) => isDecided(judged(soFar).verdict),
    toReevaluate: (all) => runsToReevaluate(judged(all)),
    save: (soFar, evaluated) => workspace.save(judged(soFar, evaluated)),
  })
  return { result: judged(launched, reevaluation), problem }
}

async function keepNoiseFloor({ measuredFloor }: Result, job: Job, { note }: Stage): Promise<void> {
  if (measuredFloor === null) return
  note(`Noise floor: ${await storeNoiseFloor(job.noiseFloorFolder, measuredFloor)}`)
}
