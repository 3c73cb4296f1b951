// Do the runs read back that their steps compute the same? A config can be equal where the work is not.
import { type Experiment, VARIANTS } from '../../../config/experiment.ts'
import { comparesRevisions } from '../../../config/revisions/revision-rules.ts'
import type { RunSummary } from '../../../measure/summary.ts'
import { ownValue } from '../../../text/own-value.ts'
import { listed } from '../../../text/wording.ts'
import { describeDifference } from '../run-differences.ts'

/** Of the keys that the trainer itself calls work: equal within a variant, and between both but for a recipe. */
export function readBackWorkProblems(experiment: Experiment, runs: readonly RunSummary[]): string[] {
  return workKeysOf(runs).flatMap((key) =>
    comparedRuns(key, experiment, runs).flatMap((compared) => {
      const problem = describeDifference(`read-back values of ${key}`, compared, (run) => textOf(key, run))
      return problem === null ? [] : [`${problem}. ${remedy(key, experiment, compared)}`]
    }),
  )
}

export function readBackWorkDetail({ kind }: Experiment, runs: readonly RunSummary[]): string {
  const keys = workKeysOf(runs)
  if (keys.length === 0) return '; what a step computes is not read back'
  return kind === 'recipe' ? '' : `; read back as equal: ${listed(keys)}`
}

function workKeysOf(runs: readonly RunSummary[]): string[] {
  return [...new Set(runs.flatMap(({ workKeys }) => workKeys))]
}

/** Groups that must have one value each. Another revision may not read back the key yet, or no longer. */
function comparedRuns(key: string, experiment: Experiment, runs: readonly RunSummary[]): RunSummary[][] {
  const ofVariants = VARIANTS.map((variant) => runs.filter((run) => run.variant === variant))
  const isUnknown = ofVariants.some((own) =>
    own.every(({ effective }) => ownValue(effective, key) === undefined),
  )
  const isEach = experiment.kind === 'recipe' || (comparesRevisions(experiment) && isUnknown)
  return isEach ? ofVariants : [[...runs]]
}

function textOf(key: string, { effective }: RunSummary): string {
  return String(ownValue(effective, key) ?? 'not read back')
}

function remedy(key: string, { kind }: Experiment, runs: readonly RunSummary[]): string {
  const isOfVariants = VARIANTS.every((variant) => {
    const values = runs.flatMap((run) => (run.variant === variant ? [textOf(key, run)] : []))
    return new Set(values).size === 1
  })
  if (!isOfVariants) return 'Find what changes the work from launch to launch'
  return kind === 'regression'
    ? 'Both revisions must do the same work: find what changed it'
    : 'Find the switch that changes the work, or move it under recipe: and set kind: recipe'
}
