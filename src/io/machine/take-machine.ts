// Takes the machine for one experiment: locks what it runs on, looks at it, and watches it during the runs.
import type { Experiment } from '../../config/experiment.ts'
import type { MachineRecord, Watched } from '../../measure/machine-record.ts'
import { duration } from '../../report/format.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import { pythonPath } from '../python-path.ts'
import { lockFolder, lockHost, lockNames } from './lock.ts'
import { readMachineFile } from './machine-reader.ts'
import { findGpus, preflight, unexamined } from './preflight.ts'
import { type Sampler, startSampler } from './sampler.ts'

export interface Machine {
  /** Watches one run; stop it when the run's processes are gone. */
  watch(file: string): Promise<Sampler>
  /** Takes what was seen of a run into `seen`. */
  recall(runId: string, file: string): Promise<void>
}

export interface TakenMachine extends Machine, AsyncDisposable {
  /** False when somebody else kept it for longer than the experiment waits: then nothing may be run. */
  readonly isTaken: boolean
  readonly seen: Watched
}

export interface TakeHooks {
  readonly cancelled: AbortSignal
  /** Called with a line for people when somebody else has the machine. */
  readonly onWait: (message: string) => void
}

/** Throws a RunError when the machine cannot be locked at all, and a CancelledError on a cancel. */
export async function takeMachine(
  { launch }: Experiment,
  workingDirectory: string,
  { cancelled, onWait }: TakeHooks,
): Promise<TakenMachine> {
  const context = { environment: trainerEnvironment(process.env, launch.env), workingDirectory, cancelled }
  const python = pythonPath(launch.python, workingDirectory)
  const request = { context, python, processes: launch.nproc_per_node }
  const found = await findGpus(request)
  const gpus = found.status === 'measured' ? found.value : []
  await using taking = new AsyncDisposableStack()
  const lock = taking.use(
    await lockHost({
      names: lockNames(gpus),
      folder: lockFolder(process.env),
      python,
      limitMinutes: launch.lock_minutes,
      cancelled,
      onWait: (holder) =>
        onWait(`waiting up to ${duration(launch.lock_minutes * 60)} (launch.lock_minutes) for ${holder}`),
    }),
  )
  const isTaken = lock.facts.status === 'held'
  const facts = isTaken ? await preflight(request) : unexamined(found, request)
  const records = new Map<string, MachineRecord>()
  const taken = taking.move()
  return {
    isTaken,
    seen: { preflight: { ...facts, lock: lock.facts }, records },
    watch: (file) => startSampler({ gpus, file, python, context }),
    async recall(runId, file) {
      const record = await readMachineFile(file)
      if (record !== null) records.set(runId, record)
    },
    [Symbol.asyncDispose]: () => taken.disposeAsync(),
  }
}
