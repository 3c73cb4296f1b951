// Opens the folder of a ladder: empty, or with what earlier sittings have measured.
import { existsSync } from 'node:fs'
import type { Experiment } from '../../config/experiment.ts'
import { ConfigError, ResumeError } from '../../errors.ts'
import { Workspace } from '../../io/folder/workspace.ts'
import { readToResume } from '../../io/load/read-to-resume.ts'
import type { LadderLaunch } from '../record.ts'
import { type KeptLadder, readLadder } from './ladder-file.ts'

export interface OpenLadder {
  readonly workspace: Workspace
  readonly earlier: Pick<KeptLadder, 'sittings' | 'launches'>
}

/** Trainings are known by their hash: one that has changed since is simply not measured yet. */
export async function openLadder(
  directory: string,
  { name, design }: Experiment,
  resume: boolean,
): Promise<OpenLadder> {
  if (!resume) return { workspace: await Workspace.fresh(directory), earlier: { sittings: [], launches: [] } }
  const { ladderFile } = new Workspace(directory)
  if (!existsSync(ladderFile))
    throw new ResumeError(
      `--resume: ${directory} has no ladder.json, so nothing in it can go on; name the folder of the interrupted ladder with --out, or start without --resume`,
    )
  const { experiment, sittings, launches } = await readToResume(readLadder(ladderFile))
  if (experiment.name !== name)
    throw new ResumeError(
      `--resume: ${ladderFile} is of ${experiment.name}, not of ${name}; name its folder with --out, or start without --resume`,
    )
  const workspace = await Workspace.reopened(directory)
  requireSameSeed(design.seed, launches, directory)
  return { workspace, earlier: { sittings, launches } }
}

/** A rung is compared with launches of its own seed alone. */
function requireSameSeed(seed: number, earlier: readonly LadderLaunch[], directory: string): void {
  const other = earlier.find(({ launched }) => launched.outcome.run.seed !== seed)?.launched.outcome.run.seed
  if (other !== undefined)
    throw new ConfigError(
      `seed: got ${seed}, but ${directory} was measured with ${other}; give --seed ${other}, or another --out`,
    )
}
