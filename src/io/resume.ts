// Opens the output folder for an experiment: empty, or with what an interrupted one has finished there.
import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from '../errors.ts'
import { standingOf } from '../judge/repeat.ts'
import type { Launched } from '../measure/outcome.ts'
import { planRuns, repeatOf } from '../plan/plan.ts'
import type { Request } from '../report/result.ts'
import { readRecorded } from './analyze.ts'
import { Workspace } from './workspace.ts'

export interface Opened {
  readonly workspace: Workspace
  /** Finished launches that need not be run again. */
  readonly kept: readonly Launched[]
}

/** Throws a ConfigError if there is nothing to resume, or if it was not the same experiment on the same host. */
export async function openWorkspace(directory: string, request: Request, resume: boolean): Promise<Opened> {
  if (!resume) return { workspace: await Workspace.fresh(directory), kept: [] }
  const workspace = new Workspace(directory)
  const earlier = await readRecorded(workspace.resultFile, (recorded) => recorded)
  requireSame(earlier.request, request, workspace.resultFile)
  const standing = standingOf(earlier.launched, earlier.watched)
  refuseFailed(standing.counting, workspace.resultFile)
  // What was set aside stays so: a second chance is given once.
  const kept = [...standing.setAside.map(({ launched }) => launched), ...wholeBlocks(standing.counting)]
  const again = planRuns(request.experiment)
    .flatMap((run) => [run, repeatOf(run)])
    .filter(({ id }) => !kept.some(({ outcome }) => outcome.run.id === id))
  await workspace.setAside(again)
  return { workspace, kept }
}

/** The unit of retry is the block: half of one was measured under conditions that the other half will not have. */
function wholeBlocks(launched: readonly Launched[]): Launched[] {
  const isFinished = ({ outcome }: Launched) => outcome.status === 'finished'
  return launched.filter((one) => {
    const { block } = one.outcome.run
    return block === null
      ? isFinished(one)
      : launched.filter(({ outcome }) => outcome.run.block === block).every(isFinished)
  })
}

function requireSame(earlier: Request, now: Request, file: string): void {
  const different = (['experiment', 'configs', 'revision', 'sources', 'host'] as const).filter(
    (key) => !isDeepStrictEqual(plain(earlier[key]), plain(now[key])),
  )
  if (different.length === 0) return
  throw new ConfigError(
    `--resume: ${file} is not of the same ${different.join(', ')}; its blocks cannot be compared with new ones, so start without --resume`,
  )
}

/** A failed launch counts as failed: to run it again until it passes would hide it. */
function refuseFailed(launched: readonly Launched[], file: string): void {
  const failed = launched.find(({ outcome }) => outcome.status === 'failed')
  if (failed === undefined) return
  throw new ConfigError(
    `--resume: ${file} has a failed launch (${failed.outcome.run.id}), which decides its verdict; start without --resume`,
  )
}

/** As it reads back from a file, where an absent key and an undefined one are the same. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
