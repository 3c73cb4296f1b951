// Runs a sitting: looks at the machine, and launches what is not measured yet.
import { type Experiment, gatesOf } from '../../config/experiment.ts'
import { UnfitMachineError } from '../../errors.ts'
import { openEngine } from '../../io/engine/open-engine.ts'
import type { ExaminedMachine } from '../../io/machine/take-machine.ts'
import type { Site } from '../../io/run/lock-site.ts'
import { unfitChecks } from '../../judge/machine/machine.ts'
import { lackOfGpus } from '../../judge/machine/preflight.ts'
import type { Preflight } from '../../measure/machine-record.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import { ladderRun, launchId, launchTitle, planSitting } from '../plan.ts'
import { remainingTrainings } from '../remaining.ts'
import type { LadderJob, LadderStage } from './job.ts'
import { type LadderProgress, ladderRecord, type RecordedLadder, saveLadder } from './ladder-file.ts'
import { launchRemaining, type RemainingTrainings } from './launch-remaining.ts'
import type { LoadedLadder } from './load-ladder.ts'
import type { OpenLadder } from './open-ladder.ts'

export interface SittingResult extends LadderProgress {
  /** There was no time for the next launch. */
  readonly isOutOfTime: boolean
}

/** Throws an UnfitMachineError for a machine that cannot be measured on. Without anything to launch there is no sitting. */
export async function runSitting(
  loaded: LoadedLadder,
  { workspace, earlier }: OpenLadder,
  site: Site,
  job: LadderJob,
  stage: LadderStage,
): Promise<SittingResult> {
  const { experiment, host, revision } = loaded.question.request
  const remainingAfter = async (launches: RecordedLadder['launches']): Promise<RemainingTrainings> => {
    const ladder = await loaded.resolveAfter(launches)
    return { baseline: ladder.baseline, trainings: remainingTrainings(ladder, launches, job) }
  }
  const first = await remainingAfter(earlier.launches)
  if (first.trainings.length === 0) return { ...earlier, isOutOfTime: false }
  await using engine = await openEngine(
    {
      experiment,
      workspace,
      workingDirectory: site.workingDirectory,
      isResumed: earlier.launches.length > 0,
    },
    { ...stage, onAllocation: () => {} },
  )
  const machine = await site.examine(experiment, engine, stage.cancelled)
  const preflight = fitPreflight(experiment, machine)
  const lack = lackOfGpus(gatesOf(experiment), preflight)
  if (lack !== null) stage.note(`${experiment.name}: ${lack}`)
  const startedAt = new Date().toISOString()
  const sittings = [...earlier.sittings, { startedAt, host, revision, preflight }]
  const sitting = earlier.sittings.length
  const baselineEvery = experiment.ladder?.baseline_every ?? first.trainings.length
  const ended = await launchRemaining(earlier.launches, workspace, {
    ...{ machine, engine, sitting, baselineEvery, remainingAfter },
    cancelled: stage.cancelled,
    deadlineMilliseconds: job.deadlineMilliseconds,
    save: async (launches) => saveLadder(workspace, await ladderRecord(loaded, { sittings, launches })),
    onStart: () => {},
    progress: stage.progress(plannedRuns(first, experiment, sitting, baselineEvery), ({ id }) =>
      launchTitle(id),
    ),
  })
  return { sittings, ...ended }
}

/** What the sitting launches if nothing fails and there is time. */
function plannedRuns(
  { baseline, trainings }: RemainingTrainings,
  { design: { seed } }: Experiment,
  sitting: number,
  baselineEvery: number,
): PlannedRun[] {
  return planSitting(baseline, trainings, baselineEvery).map((training, index) =>
    ladderRun(launchId(sitting, index, training.title), training === baseline, sitting, seed),
  )
}

function fitPreflight(experiment: Experiment, { seen: { preflight } }: ExaminedMachine): Preflight {
  const problems = unfitChecks(experiment, preflight)
  if (preflight !== null && problems.length === 0) return preflight
  throw new UnfitMachineError(
    `the machine is not fit to measure on: ${problems.map(({ name, detail }) => `${name}: ${detail}`).join('; ')}`,
  )
}
