// The action's post step: what a killed main step has left is ended, removed, kept and said.
import { resolve } from 'node:path'
import { INPUT_NAMES, parseActionInputs } from '../config/overrides/action-inputs.ts'
import { messageOf, RunError } from '../errors.ts'
import { releaseAllocation } from '../io/engine/slurm/release.ts'
import { readRawInputs } from '../io/github/action-inputs.ts'
import { readState } from '../io/github/step-state.ts'
import { sweepAfterReaper } from '../io/process/sweep.ts'
import { removeSavedWorktrees } from '../io/revisions/saved-worktrees.ts'
import { warn } from './announce.ts'
import { concludeDeadReport, isReportUnfinished } from './report-job.ts'
import { concludeUnfinished } from './unfinished.ts'

/** State under which this step finds the processes of a launch that outlived main. */
export const MARKER_STATE = 'marker'
/** State under which it finds the allocation of a cluster. */
export const ALLOCATION_STATE = 'allocation'
/** State under which it finds the worktrees that were not removed. */
export const WORKTREES_STATE = 'worktrees'

/** Throws a RunError where something cannot be ended or said. */
export async function runPost(): Promise<void> {
  // One that fails, over a state that somebody else has written, must not keep the others from their work.
  const steps = [endProcesses, giveBackAllocation, removeWorktrees, conclude]
  const failures: string[] = []
  for (const step of steps) await step().catch((error: unknown) => failures.push(messageOf(error)))
  if (failures.length > 0) throw new RunError(failures.join('; '))
}

async function endProcesses(): Promise<void> {
  const marker = readState(MARKER_STATE)
  const { ended, mayBeLeft } = marker === '' ? { ended: 0, mayBeLeft: false } : await sweepAfterReaper(marker)
  if (ended > 0) console.log(`Speedproof ended ${ended} processes that the main step left behind`)
  if (mayBeLeft)
    warn(
      'processes',
      'a process of the training may be left. Look for it with ps and end it, or restart the machine',
    )
}

async function giveBackAllocation(): Promise<void> {
  const left = readState(ALLOCATION_STATE)
  if (left === '') return
  const { given, remains } = await releaseAllocation(left)
  if (given !== null) console.log(`Speedproof gave back ${given}, which the main step left behind`)
  if (remains !== null) warn('allocation', remains)
}

async function removeWorktrees(): Promise<void> {
  const folders = readState(WORKTREES_STATE)
  if (folders === '') return
  const inputs = parseActionInputs(readRawInputs(INPUT_NAMES))
  const workingDirectory = resolve(inputs.workingDirectory)
  const outDirectory = resolve(workingDirectory, inputs.outDirectory)
  const removed = await removeSavedWorktrees(folders, outDirectory, workingDirectory)
  if (removed > 0) console.log(`Speedproof removed ${removed} worktrees that the main step left behind`)
}

async function conclude(): Promise<void> {
  if (isReportUnfinished()) await concludeDeadReport()
  await concludeUnfinished()
}
