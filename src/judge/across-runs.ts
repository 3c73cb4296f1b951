// What all runs share, and in what they differ.
import { VARIANTS } from '../config/experiment.ts'
import type { RunSummary } from '../measure/summary.ts'

/** Null where all have one value. */
export function spread(
  what: string,
  runs: readonly RunSummary[],
  value: (run: RunSummary) => string | number,
): string | null {
  const values = new Set(runs.map(value))
  return values.size > 1 ? `${what} differ: ${[...values].slice(0, 4).join(' / ')}` : null
}

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
