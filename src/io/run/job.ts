// What one call has to do, and where it reports: to a terminal or a workflow step.
import type { Overrides } from '../../config/overrides/overrides.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import type { Combined } from '../../record/combined.ts'
import type { LeftAllocation } from '../engine/slurm/slurm-engine.ts'
import type { CombinedFolder } from '../folder/combined-folder.ts'
import type { Progress } from './progress.ts'

export interface Job {
  /** At least one. */
  readonly experimentFiles: readonly string[]
  readonly workingDirectory: string
  readonly outDirectory: string
  readonly overrides: Overrides
  /** Where noise floors are kept. */
  readonly noiseFloorFolder: string
  /** Keep the finished blocks of an interrupted experiment in outDirectory. */
  readonly resume: boolean
}

export interface Stage {
  readonly cancelled: AbortSignal
  /** `name`: of all experiments of the call. */
  readonly progress: (plan: readonly PlannedRun[], name: string) => Progress
  readonly note: (message: string) => void
  readonly onWorktree: (folder: string) => void
  readonly onStart: (marker: string) => void
  /** Called with what is to be given back, should this process not live to do it. */
  readonly onAllocation: (left: LeftAllocation) => void
  /** After the last launch: what somebody has changed that no training may change, and that was put right again. */
  readonly interference: () => readonly string[]
  readonly publish: (combined: Combined, folder: CombinedFolder) => Promise<void>
}
