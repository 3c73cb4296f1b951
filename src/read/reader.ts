// The seam for sources of metrics: what a reader is given, and what it answers with.
import type { MetricsProblem } from './event-problems.ts'
import type { MetricsEvent } from './events.ts'
import type { Facts } from './facts.ts'

/** The content of a file that a run has left, by its path in the run's folder, piece by piece. */
export type Source = (file: string) => AsyncIterable<Uint8Array>

/** Turns what a run has left into the events of the contract. It knows its format alone: every reader's events are checked alike. */
export interface Reader {
  readonly name: string
  /** Where it has each fact from. */
  readonly facts: Facts
  /** What it reads, as paths in a run's folder. All have to be there; the first is the one that the live view follows. */
  readonly files: readonly [string, ...string[]]
  /** Of each file. A larger one is not opened, since all runs of an experiment are judged at once. */
  readonly maxBytes: number
  /** In the order of the training, up to the first problem, in bounded memory. */
  read(source: Source): AsyncIterable<ReadEvent>
  /** For the live view alone: of a line that the first file has just got; null if it is no event. */
  liveEvent(line: string): MetricsEvent | null
}

export type ReadEvent =
  | {
      /** Such as `metrics.jsonl line 3`: stands before whatever is wrong with it. */
      readonly where: string
      /** Not checked yet. */
      readonly event: unknown
      /** Of the text that it was read from: bounds what stays in memory. */
      readonly characters: number
    }
  | { readonly problem: MetricsProblem }
