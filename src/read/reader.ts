// The seam for sources of metrics: what a reader is given, and what it answers with.
import type { MetricsProblem } from './event-problems.ts'
import type { MetricsEvent } from './events.ts'
import type { Facts } from './facts.ts'

/** The content of a file that a run has left, by its path in the run's folder, piece by piece. */
export type Source = (file: string) => AsyncIterable<Uint8Array>

/** Turns what a run has left into the events of the contract. It knows its format alone: every reader's events are checked alike. */
export interface Reader {
  readonly name: string
  /** Of its source, as problems name it: the names of `files` where it is absent. */
  readonly title?: string
  /** Why the first of `files` may be absent. */
  readonly absent?: string
  /** Where it has each fact from. */
  readonly facts: Facts
  /** What it reads, as paths in a run's folder. All have to be there; the first is the one that the live view follows. */
  readonly files: readonly [string, ...string[]]
  /** Of each file. A larger one is not opened, since all runs of an experiment are judged at once. */
  readonly maxBytes: number
  /** In the order of the training, up to the first problem, in bounded memory. */
  read(source: Source): AsyncIterable<ReadEvent>
  /** For the live view alone: the file that grows while the training runs, as a path in the run's folder; null without one. */
  readonly liveFile: string | null
  /** Of a line that the live file has just got; null if it is no event. */
  liveEvent(line: string): MetricsEvent | null
  /** What is made into one of `files` after a launch, where the training itself does not write that. */
  readonly collected?: Collected
  /** Variables that a launch gets so that the file is written at all; `directory` is the run's folder. */
  environment?(directory: string): Readonly<Record<string, string>>
}

/** A path in the run's folder: the file that says why nothing was collected. */
export const COLLECTION_PROBLEM = 'source/problem.txt'

/** Where a file of a reader comes from. It gets a name of ours, so that no other job needs to look for it. */
export interface Collected {
  /** Which of `files` is made. */
  readonly target: string
  /** In the run's folder: `*` is a part of one name, `**` any folders. A plain path where it has neither. */
  readonly pattern: string
  /** Of several: none is right, or the one whose path is shortest, and of these the one with the highest number. */
  readonly choice: 'only' | 'highest'
  /** A program of ours for the training's interpreter, which reads the folder and writes the file; null for a copy. */
  readonly converter: 'tensorboard' | 'wandb_offline' | null
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
