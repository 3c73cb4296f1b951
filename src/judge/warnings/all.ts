// All warnings, in the order of the report. A new one is a function in a file of its own, listed here.
import { allocationWarnings } from './allocation.ts'
import { coarseNoiseFloorWarnings } from './coarse-noise-floor.ts'
import { clockWarnings } from './evidence/clocks.ts'
import { correlatedBlockWarnings } from './evidence/correlated-blocks.ts'
import { factWarnings } from './facts.ts'
import { gateWarnings } from './gates.ts'
import { outlierWarnings } from './outliers.ts'
import { readBackWarnings } from './read-back.ts'
import { sameRevisionWarnings } from './same-revision.ts'
import { sameSeedWarnings } from './same-seed.ts'
import { slowStepWarnings } from './slow-steps.ts'
import { stateBetweenRunsWarnings } from './state-between-runs.ts'
import { suspiciousImprovementWarnings } from './suspicious-improvement.ts'
import type { Warning } from './warning.ts'

export const WARNINGS: readonly Warning[] = [
  factWarnings,
  gateWarnings,
  suspiciousImprovementWarnings,
  slowStepWarnings,
  clockWarnings,
  correlatedBlockWarnings,
  sameSeedWarnings,
  stateBetweenRunsWarnings,
  outlierWarnings,
  allocationWarnings,
  readBackWarnings,
  coarseNoiseFloorWarnings,
  sameRevisionWarnings,
]
