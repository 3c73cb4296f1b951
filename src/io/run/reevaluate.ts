// Has the final checkpoints of an experiment evaluated once more, by one supervised process of the trainer.
import { dirname } from 'node:path'
import type { Experiment } from '../../config/experiment.ts'
import type { LaunchRecord } from '../../measure/outcome.ts'
import { NOT_REEVALUATED, type Reevaluation, readReevaluation } from '../../measure/reevaluation.ts'
import { evaluateCommand } from '../../plan/torchrun.ts'
import type { Engine } from '../engine/engine.ts'
import type { EvaluationFiles, Workspace } from '../folder/workspace.ts'
import { devicesOfRuns } from '../machine/visible-gpus.ts'
import { findRootCause } from '../process/log/root-cause.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import type { VariantPlace } from '../revisions/variant-places.ts'
import { pythonPath } from '../system/python-path.ts'
import { readOutput } from '../system/read-text.ts'
import type { Progress } from './progress.ts'

interface Hooks {
  readonly cancelled: AbortSignal
  readonly progress: Progress
  readonly engine: Engine
  readonly onStart: (marker: string) => void
}

/** Metrics of 128 runs with some hundred numbers each. */
const MAX_BYTES = 16 * 1024 * 1024

/** The evaluation code is the baseline's, for both variants: a change of it must not judge itself. */
export async function reevaluate(
  experiment: Experiment,
  runIds: readonly string[],
  workspace: Workspace,
  { workingDirectory, python }: VariantPlace,
  { cancelled, progress, engine, onStart }: Hooks,
): Promise<Reevaluation> {
  const { launch, trainer, variants } = experiment
  if (runIds.length === 0 || trainer.evaluate_command === undefined) return NOT_REEVALUATED
  progress.note(`evaluating ${runIds.length} checkpoints again`)
  const files = await workspace.prepareEvaluation()
  const folders = runIds.map((id) => workspace.runFiles({ id }).outDirectory)
  const environment = trainerEnvironment(process.env, { ...launch.env, ...variants.baseline.env })
  const devices = devicesOfRuns(environment.CUDA_VISIBLE_DEVICES, launch.nproc_per_node)
  const startedAt = new Date().toISOString()
  const result = await engine.launch(
    {
      command: evaluateCommand(python, experiment, trainer.evaluate_command, files.numbersFile, folders),
      workingDirectory,
      environment: { ...environment, CUDA_VISIBLE_DEVICES: devices },
      logFile: files.logFile,
      timeoutSeconds: launch.timeout_minutes * 60,
      python: pythonPath(python, workingDirectory),
      directory: dirname(files.logFile),
      on: 'first',
    },
    { cancelled, onStart, onLine: (line) => progress.trainerLine(line) },
  )
  const record = {
    runId: 'evaluation',
    startedAt,
    result,
    ...(await findRootCause({ logFile: files.logFile, errorDirectory: null }, result)),
    compileCache: null,
    code: null,
  }
  return readReevaluationFiles(record, files)
}

/** Null `launch`: the experiment was not evaluated again, or not to its end. */
export async function readReevaluationFiles(
  launch: LaunchRecord | null,
  { numbersFile }: EvaluationFiles,
): Promise<Reevaluation> {
  const text = await readOutput(numbersFile, MAX_BYTES).catch(() => '')
  return readReevaluation(launch, text.split('\n'))
}
