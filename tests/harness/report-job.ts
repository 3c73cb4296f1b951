// A measured artifact, and the report job over it: as `uses:` finds the action in the privileged workflow.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  anExperiment,
  EXPERIMENT_FILE,
  type ExperimentChanges,
} from '../fixtures/experiments/an-experiment.ts'
import { aFolder } from '../fixtures/processes/launching.ts'
import { workflowRunEvent } from './events.ts'
import type { ActionOptions } from './runner.ts'
import { measure, type Services, startServices } from './speedproof.ts'
import type { StageResult } from './stage.ts'
import { zip } from './zip.ts'

export const ARTIFACT = 'speedproof-faulty-measure-attempt-1'

export interface Measured {
  /** The experiment as it stands on main. */
  experiment: string
  /** Contents by path. */
  files: Record<string, Buffer>
  main: StageResult
}

/** What a measuring job without any write permission leaves. */
export async function measureForReport(changes: ExperimentChanges = {}): Promise<Measured> {
  return await measureFolder(await anExperiment(changes))
}

/** The same of a folder that is made already. */
export async function measureFolder(folder: string): Promise<Measured> {
  await using services = await startServices()
  const { main } = await measure(folder, services, { inputs: { report: 'artifact', 'github-token': '' } })
  const files = services.artifacts.uploaded[ARTIFACT] ?? {}
  return { experiment: await readFile(join(folder, EXPERIMENT_FILE), 'utf8'), files, main }
}

/** A GitHub with this artifact in run 1001, and the experiment on main. */
export async function servicesWith(
  { experiment, files }: Measured,
  changes: Record<string, Buffer | string> = {},
): Promise<Services> {
  const services = await startServices()
  services.github.files.main = { [EXPERIMENT_FILE]: experiment }
  services.github.archives.push({ name: ARTIFACT, runId: 1001, bytes: archiveOf({ ...files, ...changes }) })
  return services
}

export function archiveOf(files: Readonly<Record<string, Buffer | string>>): Buffer {
  return zip(Object.entries(files).map(([name, content]) => ({ name, content })))
}

export async function report(
  services: Services,
  changes: Partial<ActionOptions> = {},
): Promise<StageResult & { folder: string }> {
  const folder = changes.workspace ?? (await aFolder())
  const { main } = await measure(folder, services, {
    event: workflowRunEvent(),
    ...changes,
    inputs: { job: 'report', ...changes.inputs },
  })
  return { ...main, folder }
}
