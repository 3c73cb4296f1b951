// Where the code of each variant comes from: its revision, and the lock that its Python packages are made from.
import { z } from 'zod'
import type { Variant } from '../experiment.ts'
import { type Difference, differencesOf } from '../same-work/differences.ts'

const lockSchema = z.object({
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 in hexadecimal digits'),
  /** What the lock pins by name and version; the hash covers the rest. */
  packages: z.record(z.string(), z.string()),
})

const sourceSchema = z.object({
  /** As the experiment names it; null for the working tree as it is. */
  ref: z.string().nullable(),
  revision: z
    .string()
    .regex(/^[0-9a-f]{40,64}(-dirty)?$/, 'a commit hash, followed by -dirty if it had changes')
    .nullable(),
  /** Null if the experiment names no lock. */
  lock: lockSchema.nullable(),
})

export const sourcesSchema = z.object({ baseline: sourceSchema, optimized: sourceSchema })

export type Lock = Readonly<z.infer<typeof lockSchema>>
export type Source = Readonly<z.infer<typeof sourceSchema>>
export type Sources = Readonly<Record<Variant, Source>>

/** The packages that a requirements file pins as `name==version`; names compare without case and with one kind of dash. */
export function pinnedPackages(lockText: string): Record<string, string> {
  const pins = lockText.matchAll(/^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)/gm)
  return Object.fromEntries(
    [...pins].map(([, name = '', version = '']) => [name.toLowerCase().replaceAll(/[-_.]+/g, '-'), version]),
  )
}

/** Code and packages in which two revisions differ; listed like every other difference. */
export function sourceDifferences({ baseline, optimized }: Sources): Difference[] {
  const named = { baseline: sourceText(baseline), optimized: sourceText(optimized) }
  return [
    ...(named.baseline === named.optimized ? [] : [{ key: 'revision', ...named }]),
    ...differencesOf(baseline.lock?.sha256, optimized.lock?.sha256, ['requirements SHA-256']),
    ...differencesOf(baseline.lock?.packages ?? {}, optimized.lock?.packages ?? {}, ['package']),
  ]
}

/** One commit with nothing changed, whose two names prove nothing. */
export function isSameCode({ baseline, optimized }: Sources): boolean {
  const { revision } = baseline
  return revision !== null && revision === optimized.revision && !revision.endsWith('-dirty')
}

/** A source as a person reads it: "0123abc... (merge-base)", "4567def... with uncommitted changes". */
function sourceText({ ref, revision }: Source): string {
  if (revision === null) return 'working tree, of no commit that git knows'
  const [commit = '', changes] = revision.split('-')
  if (ref !== null) return `${commit} (${ref})`
  return changes === undefined ? commit : `${commit} with uncommitted changes`
}
