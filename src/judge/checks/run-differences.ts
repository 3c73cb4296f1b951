// What all runs share, and in what they differ.
import { VARIANTS } from '../../config/experiment.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { listed, shortened } from '../../text/wording.ts'

/** Null where all have one value, or none of them any (null); else each value with its runs, or with its variants where it differs between these alone. */
export function describeDifference(
  what: string,
  runs: readonly RunSummary[],
  value: (run: RunSummary) => string | number | null,
): string | null {
  const groups = [...Map.groupBy(runs, value)]
  if (groups.length < 2) return null
  const isOfVariants = VARIANTS.every((variant) => {
    const own = runs.filter((run) => run.variant === variant)
    return new Set(own.map(value)).size <= 1
  })
  const named = groups.map(([one, owners]) => {
    const names = owners.map((run) => (isOfVariants ? run.variant : run.runId))
    return `${shortened(String(one ?? UNKNOWN), MOST_CHARACTERS)} (${listed([...new Set(names)], 2)})`
  })
  return `${what} differ: ${named.slice(0, MOST_VALUES).join(' / ')}`
}

const UNKNOWN = 'not reported'

const MOST_VALUES = 4

/** Room for the versions of some fifty packages. */
const MOST_CHARACTERS = 1000

/** A recipe may take another number of steps for the same samples; the number of all runs, or null where they differ. */
export function perVariant(runs: readonly RunSummary[], of: (run: RunSummary) => number) {
  const numbers = VARIANTS.flatMap((variant) => {
    const run = runs.find((candidate) => candidate.variant === variant)
    return run ? [{ variant, number: of(run) }] : []
  })
  const [all = null, ...others] = new Set(numbers.map(({ number }) => number))
  return {
    all: others.length > 0 ? null : all,
    each: numbers.map(({ variant, number }) => `${number} of the ${variant}`).join(', '),
  }
}
