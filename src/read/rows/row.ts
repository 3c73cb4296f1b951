// One row of a source: a step, an evaluation, a checkpoint, or what is wrong with it.
import type { MetricsProblem } from '../event-problems.ts'

interface Place {
  /** Stands before whatever is wrong with it. */
  readonly where: string
  /** Of the text that it was read from. */
  readonly characters: number
}

export interface StepRow extends Place {
  readonly kind: 'step'
  /** Steps after it, with this one. */
  readonly step: number
  /** Of this step. */
  readonly seconds: number | null
  /** Of a clock, when the row was written. */
  readonly time: number | null
  readonly samples: number | null
  readonly trainLoss: number | null
}

export interface EvaluationRow extends Place {
  readonly kind: 'evaluation'
  /** Steps before it. */
  readonly step: number
  readonly valLoss: number
  readonly metrics: Readonly<Record<string, number>>
  readonly notFinite: readonly string[]
  readonly seconds: number | null
}

export type Row =
  | StepRow
  | EvaluationRow
  /** Its time is in that of the next step. */
  | ({ readonly kind: 'checkpoint' } & Place)
  /** Right before the first step. */
  | ({ readonly kind: 'begin'; readonly time: number } & Place)
  /** How many steps the source says there were, where it has no rows of them. */
  | ({ readonly kind: 'length'; readonly steps: number } & Place)
  | { readonly kind: 'problem'; readonly problem: MetricsProblem }
