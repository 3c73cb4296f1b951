// What a call of the ladder is asked for, and what it reports to while it runs.
import type { Overrides } from '../../config/overrides/overrides.ts'
import type { Settings } from '../../config/parse/mapping.ts'
import type { NumberTexts } from '../../config/parse/number-texts.ts'
import type { Progress } from '../../io/run/progress.ts'
import type { PlannedRun } from '../../plan/plan.ts'
import type { LaunchSelection } from '../remaining.ts'

export interface LadderJob extends LaunchSelection {
  /** One. */
  readonly experimentFiles: readonly string[]
  readonly workingDirectory: string
  readonly outDirectory: string
  readonly overrides: Overrides
  readonly noiseFloorFolder: string
  /** Win over what the ladder itself sets in every launch. */
  readonly settings: Settings
  /** Of these settings. */
  readonly numberTexts: NumberTexts
  /** Of `performance.now()`; Infinity without a limit. */
  readonly deadlineMilliseconds: number
  /** Keep what was measured in outDirectory. */
  readonly resume: boolean
}

export interface LadderStage {
  readonly cancelled: AbortSignal
  readonly progress: (plan: readonly PlannedRun[], titleOf: (run: PlannedRun) => string) => Progress
  readonly note: (message: string) => void
}
