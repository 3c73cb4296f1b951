// What an experiment may say about revisions: one training at two of them, found inside of each.
import { isAbsolute } from 'node:path'
import { ConfigError } from '../../errors.ts'
import type { Experiment } from '../experiment.ts'
import { differencesOf } from '../same-work/differences.ts'
import { isSameCode, type Sources } from './sources.ts'

/** Of a variant: the commit from which the branch that is checked out parted from its base. */
export const MERGE_BASE = 'merge-base'

/** The problem if both variants resolve to one commit; null if they differ. */
export function sameRevisionText(experiment: Pick<Experiment, 'variants'>, sources: Sources): string | null {
  if (!comparesRevisions(experiment) || !isSameCode(sources)) return null
  return `both revisions are ${sources.baseline.revision}, so the result cannot show the effect of a change. Name another base`
}

export function comparesRevisions({ variants }: Pick<Experiment, 'variants'>): boolean {
  return Object.values(variants).some(({ revision }) => revision !== undefined)
}

/** Revisions with a lock each have the packages that it names; the difference is listed. */
export function mayDifferInPackages(experiment: Pick<Experiment, 'variants' | 'launch'>): boolean {
  return experiment.launch.requirements !== undefined && comparesRevisions(experiment)
}

/** Throws a ConfigError that names the key and the remedy. */
export function checkRevisions(experiment: Experiment, file: string): void {
  if (experiment.kind === 'regression' && experiment.mode === 'compare')
    checkOneTraining(experiment.variants, file)
  for (const [key, path] of pathsInside(experiment)) {
    if (!isAbsolute(path) && !path.split('/').includes('..')) continue
    throw new ConfigError(
      `${file}: ${key}: got "${path}", expected a path inside the working directory, since each revision has its own`,
    )
  }
}

/** Keys and paths of files that each revision has to contain. */
function pathsInside(experiment: Experiment): [string, string][] {
  const { variants, launch, trainer } = experiment
  const paths: [string, string | undefined][] = [
    ['launch.requirements', launch.requirements],
    ...launch.shared_paths.map((path, index): [string, string] => [`launch.shared_paths.${index}`, path]),
    ['trainer.script', comparesRevisions(experiment) ? trainer.script : undefined],
    ...Object.entries(variants).map(([variant, { config, revision }]): [string, string | undefined] => [
      `variants.${variant}.config`,
      revision === undefined ? undefined : config,
    ]),
  ]
  return paths.flatMap(([key, path]) => (path === undefined ? [] : [[key, path]]))
}

function checkOneTraining({ baseline, optimized }: Experiment['variants'], file: string): void {
  const { revision: before, ...one } = baseline
  const { revision: after, ...other } = optimized
  const [different] = differencesOf(one, other, [])
  if (different !== undefined) {
    throw new ConfigError(
      `${file}: variants: ${different.key} differs (baseline ${JSON.stringify(different.baseline)}, optimized ${JSON.stringify(different.optimized)}), ` +
        'but a regression experiment runs the same training at two revisions. Make it equal, or set kind: same-work',
    )
  }
  if (before === after) {
    throw new ConfigError(
      `${file}: variants: both revisions are ${before ?? 'the working tree'}, but a regression experiment compares two. Give the baseline revision: ${MERGE_BASE}`,
    )
  }
}
