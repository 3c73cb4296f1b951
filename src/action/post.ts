// The action's post step: what a killed main step has left is ended, removed, kept and said.
import { readState } from '../io/github/step-state.ts'
import { sweepAfterReaper } from '../io/process/sweep.ts'
import { removeSavedWorktrees } from '../io/revisions/saved-worktrees.ts'
import { warn } from './announce.ts'
import { concludeUnfinished } from './unfinished.ts'

/** State under which this step finds the processes of a launch that outlived main. */
export const MARKER_STATE = 'marker'
/** State under which it finds the worktrees that were not removed. */
export const WORKTREES_STATE = 'worktrees'

export async function runPost(): Promise<void> {
  const marker = readState(MARKER_STATE)
  const { ended, mayBeLeft } = marker === '' ? { ended: 0, mayBeLeft: false } : await sweepAfterReaper(marker)
  if (ended > 0) console.log(`Speedproof ended ${ended} processes that the main step left behind`)
  if (mayBeLeft)
    warn(
      'processes',
      'a process of the training may be left. Look for it with ps and end it, or restart the machine',
    )
  const removed = await removeSavedWorktrees(readState(WORKTREES_STATE))
  if (removed > 0) console.log(`Speedproof removed ${removed} worktrees that the main step left behind`)
  await concludeUnfinished()
}
