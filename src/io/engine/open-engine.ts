// Opens the engine that an experiment names.
import type { Experiment } from '../../config/experiment.ts'
import type { Workspace } from '../folder/workspace.ts'
import { trainerEnvironment } from '../process/trainer-environment.ts'
import type { Engine } from './engine.ts'
import { localEngine } from './local.ts'
import { openSlurm, type SlurmHooks } from './slurm/slurm-engine.ts'

export interface EngineQuestion {
  readonly experiment: Experiment
  readonly workspace: Workspace
  readonly workingDirectory: string
  /** Blocks of an earlier call are kept. */
  readonly isResumed: boolean
}

/** Waits in the queue of a cluster. Throws a ConfigError, a RunError or a CancelledError, and then leaves nothing there. */
export async function openEngine(
  { experiment, workspace, workingDirectory, isResumed }: EngineQuestion,
  hooks: SlurmHooks,
): Promise<Engine> {
  const environment = trainerEnvironment(process.env, experiment.launch.env)
  if (experiment.launch.engine === 'local') return localEngine({ workingDirectory, environment })
  const folder = await workspace.prepareAllocation()
  return await openSlurm(
    { experiment, folder, workingDirectory, environment, isResumed, agent: workspace.agent },
    hooks,
  )
}
