// Opens the folder of a ladder: empty, or with what earlier sittings have measured.
import { ConfigError } from '../../errors.ts'
import { Workspace } from '../workspace.ts'
import { type KeptLadder, readLadder } from './ladder-file.ts'

export interface OpenLadder {
  readonly workspace: Workspace
  readonly earlier: Pick<KeptLadder, 'sittings' | 'launches'>
}

/** Trainings are known by their hash: one that has changed since is simply not measured yet. */
export async function openLadder(directory: string, name: string, resume: boolean): Promise<OpenLadder> {
  if (!resume) return { workspace: await Workspace.fresh(directory), earlier: { sittings: [], launches: [] } }
  const workspace = new Workspace(directory)
  const earlier = await readLadder(workspace.ladderFile)
  const { sittings, launches } = earlier
  if (earlier.experiment.name === name) return { workspace, earlier: { sittings, launches } }
  throw new ConfigError(
    `--resume: ${workspace.ladderFile} is of ${earlier.experiment.name}, not of ${name}; name its folder with --out, or start without --resume`,
  )
}
