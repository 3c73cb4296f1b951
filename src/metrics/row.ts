// What a row of the catalogue says about a metric and its built-in gates.

/** How a metric of both variants becomes one number. */
export type Statistic =
  | 'speedup' // baseline / optimized, of a time or a cost; up is good
  | 'ratio' // optimized / baseline
  | 'difference' // optimized - baseline
  | 'maximum' // the largest of the optimized runs; down is good
  | 'minimum' // the smallest of the optimized runs; up is good

export type Unit =
  | 's'
  | 's/sample'
  | 'J/sample'
  | 'cycles/sample'
  | 'GPU hours'
  | 'bytes'
  | 'share'
  | 'count'
  /** A loss has the unit of its targets, squared or not. */
  | 'none'

export interface MetricRow {
  /** Plain words, which reports and docs show. */
  readonly meaning: string
  readonly unit: Unit
  /** Null: only the experiment knows, such as for an accuracy. */
  readonly better: 'less' | 'more' | null
  /**
   * A `time` comes from a clock; a `resource` is what a run takes of the machine. Runs of `time` and `quality` that agree
   * to the last digit prove nothing; a `resource` may be the same in all runs.
   */
  readonly kind: 'time' | 'quality' | 'resource'
  /** What it is computed from: the run's steps and its end, its evaluations, or the GPUs as they were watched. */
  readonly from: 'run' | 'evaluation' | 'machine'
  readonly needs: Needs
  /** By name, as experiments write it. */
  readonly gates: Readonly<Record<string, BuiltInGate>>
  /** Computed a second time, as if no timed step had been slower than the fastest tenth of its run. */
  readonly isAtFastestStepsToo?: true
  /** Over the timed steps alone, so that a trend of them changes it. */
  readonly isOfTimedSteps?: true
  /** No experiment can name it in a gate of its own. */
  readonly isShownOnly?: true
  /** Why a gate of it cannot be required. */
  readonly neverRequired?: string
  /** The metric of which it is the relative form: its ratio also sees a model that this one's wide limit lets pass. */
  readonly relativeOf?: string
}

/** Beyond the required keys of the contract. */
export interface Needs {
  readonly gpu?: 'any' | 'NVIDIA'
  /** Of the trainer. */
  readonly report?: string
}

export interface BuiltInGate {
  readonly statistic: Statistic
  /** Makes it one of the gates of an experiment that names none. */
  readonly limit?: GateLimit
  /** The same for a change that is not meant to speed anything up. */
  readonly regressionLimit?: GateLimit
  /** Of the gate in an experiment that names none; required without it. */
  readonly defaultSeverity?: 'warn'
  /** In an experiment that names none, it is left out until a baseline run reports its metric. */
  readonly isDefaultIfReported?: true
  /** Action input and flag that give its limit. */
  readonly input?: { readonly name: 'min-speedup' | 'max-loss-delta'; readonly gives: LimitKey }
  /** Action output of its estimate; `-lower-bound` or `-upper-bound` is appended for the bound that decides. */
  readonly output?: string
  /** Its limit is money: GPU hours times the price of one. */
  readonly isPriced?: true
}

export type LimitKey = 'at_least' | 'at_most' | 'below'
export type GateLimit =
  | { readonly at_least: number }
  | { readonly at_most: number }
  | { readonly below: number }
