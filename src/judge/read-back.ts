// What the trainings read back as really on has to be the same in all runs of a variant.
import { VARIANTS } from '../config/experiment.ts'
import type { RunSummary } from '../measure/summary.ts'
import { listed } from '../text/listed.ts'

const MOST_KEYS = 6

/** Warnings, since a trainer may read back what differs from run to run by its nature. */
export function readBackWarnings(runs: readonly RunSummary[]): string[] {
  return VARIANTS.flatMap((variant) => {
    const keys = changedKeys(runs.filter((run) => run.variant === variant).map(({ effective }) => effective))
    return keys.length > 0
      ? [
          `${variant}: its runs read back different values of ${listed(keys, MOST_KEYS)}; did a switch fall back in some of them?`,
        ]
      : []
  })
}

function changedKeys(all: readonly RunSummary['effective'][]): string[] {
  const keys = new Set(all.flatMap((effective) => Object.keys(effective)))
  return [...keys].filter((key) => new Set(all.map((effective) => effective[key])).size > 1)
}
