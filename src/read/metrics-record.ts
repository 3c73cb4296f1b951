// What one run reported, as far as it could be read.
import type { MetricsProblem } from './event-problems.ts'
import type { Evaluation, Held, RunEnd, RunStart } from './events.ts'
import type { Facts } from './facts.ts'

/** Per-step columns of all windows; index 0 is step 1. */
export interface StepColumns {
  readonly seconds: number[]
  /** 1 of each where they are unknown. */
  readonly samples: number[]
  readonly trainLoss: number[]
  readonly dataWaitSeconds: number[]
  /** Steps whose seconds contain more than the step, in their order. */
  readonly held: readonly HeldStep[]
}

export interface HeldStep {
  /** From 0. */
  readonly index: number
  readonly what: Held
}

export interface Phase {
  readonly name: 'import' | 'data' | 'build' | 'compile' | 'capture' | 'checkpoint'
  readonly seconds: number
  readonly step: number | null
}

export interface MetricsRecord {
  /** Name of the reader. */
  readonly reader: string
  /** Where each fact of this run comes from. */
  readonly facts: Facts
  readonly start: RunStart | null
  readonly steps: StepColumns
  readonly evaluations: readonly Evaluation[]
  readonly phases: readonly Phase[]
  readonly end: RunEnd | null
  /** null only for a source that is whole: from run_start to run_end without a gap. */
  readonly problem: MetricsProblem | null
}

export type CompleteMetrics = MetricsRecord & {
  readonly start: RunStart
  readonly end: RunEnd
  readonly problem: null
}

export function isComplete(metrics: MetricsRecord): metrics is CompleteMetrics {
  return metrics.problem === null && metrics.start !== null && metrics.end !== null
}
