// What a verdict is made from: checks, gates and warnings all read this one value.
import type { Experiment } from '../config/experiment.ts'
import type { Sources } from '../config/revisions/sources.ts'
import type { ResolvedConfigs } from '../config/same-work/same-work.ts'
import type { DataHashes } from '../measure/data-hashes.ts'
import type { RunOutcome } from '../measure/outcome.ts'
import type { Reevaluation } from '../measure/reevaluation.ts'
import type { RunSummary } from '../measure/summary.ts'
import { looksOf } from '../plan/looks.ts'
import { isMeasured } from '../plan/plan.ts'
import { type AaFinding, findAa } from './checks/aa.ts'
import type { Comparison } from './compare.ts'
import { compareWithFloors, type Floors, type NoiseComparison } from './noise/noise.ts'
import { type WhyStopped, whyStopped } from './why-stopped.ts'

/** What was measured, by which experiment. */
export interface Evidence {
  readonly experiment: Experiment
  readonly sources: Sources
  /** As handed over to the runs; null where the caller has none. */
  readonly configs: ResolvedConfigs | null
  readonly outcomes: readonly RunOutcome[]
  /** Finished runs that count, those for warming up too, in the order of their launches. */
  readonly runs: readonly RunSummary[]
  readonly comparison: Comparison
  /** The stored noise floor of this machine for the training of each variant. */
  readonly floors: Floors
  readonly reevaluation: Reevaluation
  /** Of the files under `data:`; null where the experiment names none, or was stopped before it hashed them. */
  readonly data?: DataHashes | null
}

export interface VerdictInput extends Evidence {
  /** Of `runs`, without those for warming up. */
  readonly measured: readonly RunSummary[]
  readonly noise: NoiseComparison
  /** Null unless the experiment is one. */
  readonly aa: AaFinding | null
  /** Why there are fewer blocks than planned; null where there are not. */
  readonly stopped: WhyStopped | null
}

export function verdictInputOf(evidence: Evidence): VerdictInput {
  const { experiment, runs, outcomes, floors } = evidence
  const measured = runs.filter(isMeasured)
  return {
    ...evidence,
    measured,
    noise: compareWithFloors(measured, floors, looksOf(experiment).length),
    aa: experiment.mode === 'aa' ? findAa(measured) : null,
    stopped: whyStopped(experiment, outcomes),
  }
}
