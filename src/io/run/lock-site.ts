// Locks what the experiments of a call share, their folders and the machine, until the last one is done.
import type { Experiment } from '../../config/experiment.ts'
import type { LockFacts } from '../../measure/machine-record.ts'
import type { Engine } from '../engine/engine.ts'
import { lockFolders } from '../folder/lock-folders.ts'
import type { Loaded } from '../load/load-experiment.ts'
import { requireFloorFolder } from '../load/noise-floors.ts'
import { factsOf } from '../machine/lock.ts'
import { type ExaminedMachine, examineMachine, examineNodes, lockMachine } from '../machine/take-machine.ts'
import type { Job, Stage } from './job.ts'

/** Locked until it is disposed of. */
export interface Site extends AsyncDisposable {
  readonly workingDirectory: string
  /** State of all locks now: one may be lost while experiments run. */
  lock(): LockFacts
  examine(experiment: Experiment, engine: Engine, cancelled: AbortSignal): Promise<ExaminedMachine>
}

/** Throws a ConfigError for a folder that cannot be written or locked, a RunError for a machine that cannot be locked. */
export async function lockSite(
  questions: readonly Loaded[],
  job: Pick<Job, 'workingDirectory' | 'outDirectory' | 'noiseFloorFolder'>,
  { cancelled, note: onWait }: Pick<Stage, 'cancelled' | 'note'>,
): Promise<Site> {
  const experiments = questions.map(({ request }) => request.experiment)
  if (experiments.some(({ mode }) => mode === 'aa')) await requireFloorFolder(job.noiseFloorFolder)
  await using taking = new AsyncDisposableStack()
  const folders = taking.use(await lockFolders({ ...job, cancelled, questions }))
  // Slurm gives whole nodes to one job: there the allocation is the lock.
  const here = experiments.filter(({ launch }) => launch.engine === 'local')
  const machine = taking.use(
    here.length === 0 ? ALLOCATED : await lockMachine(here, job.workingDirectory, { cancelled, onWait }),
  )
  const lock = () => factsOf(machine, ...folders)
  const taken = taking.move()
  return {
    workingDirectory: job.workingDirectory,
    lock,
    examine: (experiment, engine, signal) =>
      engine.kind === 'local'
        ? examineMachine(experiment, job.workingDirectory, lock, signal)
        : examineNodes(experiment, job.workingDirectory, engine, lock, signal),
    [Symbol.asyncDispose]: () => taken.disposeAsync(),
  }
}

const ALLOCATED = {
  facts: { status: 'held', waitedSeconds: 0, waitedFor: null } as const,
  [Symbol.asyncDispose]: async () => {},
}
