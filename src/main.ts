// The story: an experiment is loaded, planned, run, measured, judged and reported.
import { assess } from './assess.ts'
import type { Overrides } from './config/overrides.ts'
import { loadExperiment } from './io/load-experiment.ts'
import { takeMachine } from './io/machine/take-machine.ts'
import { storeNoiseFloor } from './io/noise-floors.ts'
import type { Progress } from './io/progress.ts'
import { openWorkspace } from './io/resume.ts'
import { runAll } from './io/run-all.ts'
import { Workspace } from './io/workspace.ts'
import { isFit } from './judge/machine.ts'
import { runsToReevaluate } from './judge/reevaluation.ts'
import { standingOf } from './judge/repeat.ts'
import { isDecided } from './judge/verdict.ts'
import type { Launched } from './measure/outcome.ts'
import type { Reevaluation } from './measure/reevaluation.ts'
import { type PlannedRun, planRuns } from './plan/plan.ts'
import type { Result } from './report/result.ts'

export interface Job {
  readonly experimentFile: string
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
  readonly progress: (plan: readonly PlannedRun[], experiment: string) => Progress
  readonly note: (message: string) => void
  readonly onWorktree: (folder: string) => void
  readonly onStart: (marker: string) => void
  readonly publish: (result: Result, workspace: Workspace) => Promise<void>
}

export async function main(job: Job, stage: Stage): Promise<Result> {
  await using loaded = await loadExperiment({ ...job, ...stage })
  const { request, places } = loaded
  const plan = planRuns(request.experiment)
  const progress = stage.progress(plan, request.experiment.name)
  await using machine = await takeMachine(request.experiment, job.workingDirectory, {
    cancelled: stage.cancelled,
    onWait: (message) => progress.note(message),
  })
  const judged = (launched: readonly Launched[], reevaluation?: Reevaluation) =>
    assess(request, launched, machine.seen, reevaluation)
  const { workspace, kept } = machine.isTaken
    ? await openWorkspace(job.outDirectory, request, job.resume)
    : { workspace: await Workspace.beside(job.outDirectory), kept: [] }
  const { launched, reevaluation, problem } = await runAll(request, plan, kept, workspace, places, {
    cancelled: stage.cancelled,
    onStart: stage.onStart,
    progress,
    machine,
    isFit: isFit(machine.seen.preflight),
    standing: (soFar) => standingOf(soFar, machine.seen),
    isDecided: (soFar) => isDecided(judged(soFar).verdict),
    toReevaluate: (all) => runsToReevaluate(judged(all)),
    save: (soFar, evaluated) => workspace.save(judged(soFar, evaluated)),
  })
  const result = judged(launched, reevaluation)
  await stage.publish(result, workspace)
  if (problem !== null) throw problem
  if (result.measuredFloor !== null) {
    const file = await storeNoiseFloor(job.noiseFloorFolder, result.measuredFloor)
    progress.note(`Noise floor: ${file}`)
  }
  return result
}
