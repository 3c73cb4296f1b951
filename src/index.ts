// The action's entry: main and post are the same file, and state says which of them this is.
import { setFailed } from '@actions/core'
import { CancelledError, ConfigError, RunError } from './errors.ts'
import { MARKER_STATE, runAction, WORKTREES_STATE } from './io/action.ts'
import { readState, saveState } from './io/github/step-state.ts'
import { sweep } from './io/process/sweep.ts'
import { removeSavedWorktrees } from './io/revisions/saved-worktrees.ts'

const MAIN_RAN = 'main-ran'

async function start(): Promise<void> {
  if (readState(MAIN_RAN) !== '') return post()
  saveState(MAIN_RAN, 'yes')
  if (!(await runAction())) process.exitCode = 1
}

/** Ends what a killed main step may have left on the GPUs, then removes the code that it ran. */
async function post(): Promise<void> {
  const marker = readState(MARKER_STATE)
  const ended = marker === '' ? 0 : await sweep(marker)
  if (ended > 0) console.log(`Speedproof ended ${ended} processes that the main step left behind`)
  const removed = await removeSavedWorktrees(readState(WORKTREES_STATE))
  if (removed > 0) console.log(`Speedproof removed ${removed} worktrees that the main step left behind`)
}

try {
  await start()
} catch (error) {
  setFailed(explain(error))
}
// An upload that timed out may keep the process alive for ever.
process.exit()

function explain(error: unknown): string {
  if (error instanceof CancelledError || error instanceof ConfigError || error instanceof RunError) {
    return error.message
  }
  return `Speedproof has a bug: ${error instanceof Error ? error.stack : String(error)}`
}
