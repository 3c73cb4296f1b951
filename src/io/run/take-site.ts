// Takes what the experiments of a call share until the last is done: their folders and the machine.
import type { Experiment } from '../../config/experiment.ts'
import type { LockFacts } from '../../measure/machine-record.ts'
import { lockFolders } from '../folder/lock-folders.ts'
import type { Loaded } from '../load/load-experiment.ts'
import { requireFloorFolder } from '../load/noise-floors.ts'
import { factsOf } from '../machine/lock.ts'
import { type ExaminedMachine, examineMachine, lockMachine } from '../machine/take-machine.ts'
import type { Job, Stage } from './job.ts'

/** Taken until it is disposed of. */
export interface Site extends AsyncDisposable {
  /** Of the folders and the machine: a lock may be lost later. */
  lock(): LockFacts
  examine(experiment: Experiment, cancelled: AbortSignal): Promise<ExaminedMachine>
}

/** Throws a ConfigError for a folder that cannot be written or locked, a RunError for a machine that cannot be locked. */
export async function takeSite(questions: readonly Loaded[], job: Job, stage: Stage): Promise<Site> {
  const experiments = questions.map(({ request }) => request.experiment)
  if (experiments.some(({ mode }) => mode === 'aa')) await requireFloorFolder(job.noiseFloorFolder)
  await using taking = new AsyncDisposableStack()
  const folders = taking.use(await lockFolders({ ...job, ...stage, questions }))
  const { cancelled, note: onWait } = stage
  const machine = taking.use(await lockMachine(experiments, job.workingDirectory, { cancelled, onWait }))
  const lock = () => factsOf(machine, ...folders)
  const taken = taking.move()
  return {
    lock,
    examine: (experiment, signal) => examineMachine(experiment, job.workingDirectory, lock, signal),
    [Symbol.asyncDispose]: () => taken.disposeAsync(),
  }
}
