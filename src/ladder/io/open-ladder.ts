// Opens the folder of a ladder: empty, or with what earlier sittings have measured.
import { existsSync } from 'node:fs'
import type { Experiment } from '../../config/experiment.ts'
import { ConfigError, ResumeError } from '../../errors.ts'
import { Workspace } from '../../io/folder/workspace.ts'
import { readToResume } from '../../io/load/read-to-resume.ts'
import { type LadderProgress, readLadder } from './ladder-file.ts'

export interface OpenLadder {
  readonly workspace: Workspace
  readonly earlier: LadderProgress
}

/** Trainings are known by their hash: one that has changed since is simply not measured yet. */
export async function openLadder(
  directory: string,
  experiment: Experiment,
  resume: boolean,
): Promise<OpenLadder> {
  if (!resume) return { workspace: await Workspace.fresh(directory), earlier: { sittings: [], launches: [] } }
  const { ladderFile } = new Workspace(directory)
  if (!existsSync(ladderFile))
    throw new ResumeError(
      `--resume: ${directory} has no ladder.json, so there is nothing to resume. Name the folder of the interrupted ladder with --out, or start without --resume`,
    )
  const record = await readToResume(readLadder(ladderFile))
  if (record.experiment.name !== experiment.name)
    throw new ResumeError(
      `--resume: ${ladderFile} is the ladder of ${record.experiment.name}, not of ${experiment.name}. Name the folder of ${experiment.name} with --out, or start without --resume`,
    )
  const workspace = await Workspace.reopened(directory)
  refuseOtherSeed(experiment.design.seed, record, directory)
  return { workspace, earlier: { sittings: record.sittings, launches: record.launches } }
}

/** A rung is compared with launches of its own seed alone. */
function refuseOtherSeed(seed: number, { launches }: LadderProgress, out: string): void {
  const seeds = launches.map(({ launched }) => launched.outcome.run.seed)
  const other = seeds.find((one) => one !== seed)
  if (other !== undefined)
    throw new ConfigError(
      `seed: got ${seed}, but ${out} was measured with seed ${other}. Give --seed ${other}, or another --out`,
    )
}
