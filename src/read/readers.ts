// The registry: every source of metrics that Speedproof can read.
import type { Reader } from './reader.ts'
import { speedproof } from './speedproof.ts'

export const READERS: readonly Reader[] = [speedproof]

export const DEFAULT_READER: Reader = speedproof

/** What any of them may read, as paths in a run's folder. */
export const SOURCE_FILES: readonly string[] = READERS.flatMap(({ files }) => files)
