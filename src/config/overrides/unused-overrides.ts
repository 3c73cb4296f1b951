// Inputs and flags that were given, and change nothing in an experiment.
import type { Experiment } from '../experiment.ts'
import { parseYaml } from '../parse/yaml.ts'
import { fillsInNothing } from '../presets.ts'
import { MERGE_BASE } from '../revisions/revision-rules.ts'
import type { OverrideName, Overrides } from './overrides.ts'

/** `text`: the experiment file. A flag that says what the file says anyhow is not meant: it is true. */
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
