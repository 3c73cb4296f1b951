// Finds inputs and flags that have no effect on an experiment.
import type { Experiment } from '../experiment.ts'
import { parseYaml } from '../parse/yaml.ts'
import { fillsInNothing } from '../presets.ts'
import { MERGE_BASE } from '../revisions/revision-rules.ts'
import type { OverrideName, Overrides } from './overrides.ts'

/** `text`: the experiment file. Repeating the file's own value is not reported. */
export function unusedOverrides(
  { base, preset }: Overrides,
  { name, variants }: Experiment,
  text: string,
): OverrideName[] {
  const asksForBase = Object.values(variants).some(({ revision }) => revision === MERGE_BASE)
  return [
    ...(base !== undefined && !asksForBase ? ['base' as const] : []),
    ...(preset !== undefined && fillsInNothing(preset, parseYaml(text, name)) ? ['preset' as const] : []),
  ]
}
