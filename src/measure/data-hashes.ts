// What the files under `data:` were before the first launch, and after the last.
import { z } from 'zod'
import type { Fact } from '../read/facts.ts'
import type { RunSummary } from './summary.ts'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256')

/** Two revisions have two working directories, and files of their own unless they share them. */
const ofVariants = z.strictObject({ baseline: sha256, optimized: sha256 })

export const dataHashesSchema = z.strictObject({
  before: ofVariants,
  /** Null where the experiment was stopped before its end. */
  after: ofVariants.nullable(),
  /** The first that changed in between, by their paths in the working directory. */
  changed: z.array(z.string()),
})

export type DataHashes = z.infer<typeof dataHashesSchema>

const OF_DATA: readonly Fact[] = ['training_data', 'held_out_set']

/** What a source does not tell of its data is known at least by the files that Speedproof hashed. */
export function withHashedData(run: RunSummary, data: DataHashes | null): RunSummary {
  if (data === null) return run
  const unknown = OF_DATA.filter((fact) => run.facts[fact] === 'unknown')
  return { ...run, facts: { ...run.facts, ...Object.fromEntries(unknown.map((fact) => [fact, 'hashed'])) } }
}
