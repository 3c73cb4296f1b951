// What the trainings read back as really on has to be the same in all runs of a variant, and not in both.
import { isDeepStrictEqual } from 'node:util'
import { VARIANTS } from '../../config/experiment.ts'
import { comparesRevisions } from '../../config/revisions/revision-rules.ts'
import type { RunSummary } from '../../measure/summary.ts'
import { ownValue } from '../../text/own-value.ts'
import { listed } from '../../text/wording.ts'
import type { Warning } from './warning.ts'

const MOST_KEYS = 6

/** Warnings, since a trainer may read back what differs from run to run by its nature. */
export const readBackWarnings: Warning<'experiment' | 'measured'> = ({ experiment, measured: runs }) => {
  const { kind, mode, variants } = experiment
  // A regression has its switch in the code, and other environments need no key.
  const isSwitched =
    kind !== 'regression' &&
    mode === 'compare' &&
    !comparesRevisions(experiment) &&
    isDeepStrictEqual(variants.baseline.env, variants.optimized.env)
  return [...changingValueWarnings(runs), ...(isSwitched && isReadBackEqual(runs) ? [NO_SWITCH] : [])]
}

const NO_SWITCH =
  'both variants read back the same settings, so they may be the same training. Check that the trainer knows the keys in which they differ'

/** Not where nothing is read back, or only one variant has runs. */
function isReadBackEqual(runs: readonly RunSummary[]): boolean {
  const effective = runs.map((run) => run.effective)
  const hasBoth = VARIANTS.every((variant) => runs.some((run) => run.variant === variant))
  return (
    hasBoth && effective.every((keys) => Object.keys(keys).length > 0) && changedKeys(effective).length === 0
  )
}

function changingValueWarnings(runs: readonly RunSummary[]): string[] {
  return VARIANTS.flatMap((variant) => {
    const keys = changedKeys(runs.filter((run) => run.variant === variant).map(({ effective }) => effective))
    return keys.length > 0
      ? [
          `${variant}: its runs read back different values of ${listed(keys, MOST_KEYS)}, so they may not be the same training. Check whether a switch fell back in some of them`,
        ]
      : []
  })
}

function changedKeys(all: readonly RunSummary['effective'][]): string[] {
  const keys = new Set(all.flatMap((effective) => Object.keys(effective)))
  return [...keys].filter((key) => new Set(all.map((effective) => ownValue(effective, key))).size > 1)
}
