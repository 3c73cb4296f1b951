// Everything in which the variants are known to differ before they run: code, packages, config, environment.
import type { Difference } from '../config/differences.ts'
import { declaredDifferences, environmentDifferences } from '../config/same-work.ts'
import { sourceDifferences } from '../config/sources.ts'
import type { Request } from './result.ts'

/** Throws a ConfigError if one lies where this kind of experiment may not differ. */
export function allDifferences({ experiment, configs, sources }: Request): Difference[] {
  return [
    ...sourceDifferences(sources),
    ...declaredDifferences(experiment.kind, configs),
    ...environmentDifferences(experiment),
  ]
}
