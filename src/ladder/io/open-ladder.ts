// Opens the folder of a ladder: empty, or with what earlier sittings have measured.
import { existsSync } from 'node:fs'
import { ResumeError } from '../../errors.ts'
import { Workspace } from '../../io/folder/workspace.ts'
import { readToResume } from '../../io/load/read-to-resume.ts'
import { type KeptLadder, readLadder } from './ladder-file.ts'

export interface OpenLadder {
  readonly workspace: Workspace
  readonly earlier: Pick<KeptLadder, 'sittings' | 'launches'>
}

/** Trainings are known by their hash: one that has changed since is simply not measured yet. */
export async function openLadder(directory: string, name: string, resume: boolean): Promise<OpenLadder> {
  if (!resume) return { workspace: await Workspace.fresh(directory), earlier: { sittings: [], launches: [] } }
  const { ladderFile } = new Workspace(directory)
  if (!existsSync(ladderFile))
    throw new ResumeError(
      `--resume: ${directory} has no ladder.json, so nothing in it can go on; name the folder of the interrupted ladder with --out, or start without --resume`,
    )
  const earlier = await readToResume(readLadder(ladderFile))
  const { sittings, launches } = earlier
  if (earlier.experiment.name === name)
    return { workspace: await Workspace.reopened(directory), earlier: { sittings, launches } }
  throw new ResumeError(
    `--resume: ${ladderFile} is of ${earlier.experiment.name}, not of ${name}; name its folder with --out, or start without --resume`,
  )
}
