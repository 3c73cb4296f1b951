// Everything in which the variants are known to differ before they run: code, packages, config, environment.

import { sourceDifferences } from '../config/revisions/sources.ts'
import type { Difference } from '../config/same-work/differences.ts'
import { declaredDifferences, environmentDifferences } from '../config/same-work/same-work.ts'
import type { Request } from './result.ts'

/** Throws a ConfigError if one lies where this kind of experiment may not differ. */
export function allDifferences({ experiment, configs, sources }: Request): Difference[] {
  return [
    ...sourceDifferences(sources),
    ...declaredDifferences(experiment.kind, configs, experiment.trainer.speed_keys),
    ...environmentDifferences(experiment),
  ]
}
