// The action's post step: what a killed main step has left is ended, removed, kept and said.
import { readState } from '../io/github/step-state.ts'
import { sweep } from '../io/process/sweep.ts'
import { removeSavedWorktrees } from '../io/revisions/saved-worktrees.ts'
import { concludeUnfinished } from './unfinished.ts'

/** State under which this step finds the processes of a launch that outlived main. */
export const MARKER_STATE = 'marker'
/** State under which it finds the worktrees that were not removed. */
export const WORKTREES_STATE = 'worktrees'

export async function runPost(): Promise<void> {
  const marker = readState(MARKER_STATE)
  const ended = marker === '' ? 0 : await sweep(marker)
  if (ended > 0) console.log(`Speedproof ended ${ended} processes that the main step left behind`)
  const removed = await removeSavedWorktrees(readState(WORKTREES_STATE))
  if (removed > 0) console.log(`Speedproof removed ${removed} worktrees that the main step left behind`)
  await concludeUnfinished()
}
