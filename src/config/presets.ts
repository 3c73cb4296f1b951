// Named sets of blocks and gates: how much evidence an occasion is worth.

import { DEFAULT_GATES, type GatesFile, REGRESSION_GATES } from './gates/gates.ts'
import { isMapping } from './same-work/differences.ts'

export const PRESET_NAMES = ['smoke', 'pull-request', 'nightly', 'release'] as const
export type PresetName = (typeof PRESET_NAMES)[number]

interface Preset {
  readonly design: Readonly<Record<string, unknown>>
  readonly severity: 'required' | 'info'
}

const PRESETS: Readonly<Record<PresetName, Preset>> = {
  /** Does it run? Completion, finite numbers and equal work are required, the rest is information. */
  smoke: { design: { blocks: 2 }, severity: 'info' },
  /** Minutes count: the verdict may stay open, and a label or a nightly run decides. */
  'pull-request': { design: { blocks: [2, 4, 6] }, severity: 'required' },
  nightly: { design: { blocks: [2, 4, 6, 8] }, severity: 'required' },
  /** Enough seeds for a loss delta of 0.001. */
  release: { design: { blocks: [2, 8, 12, 16], warm_up_launches: 2 }, severity: 'required' },
}

/** Fills in what the file leaves open; a gate or key that the file names itself wins over the preset's. */
export function withPreset(raw: unknown, chosen: PresetName | undefined): unknown {
  if (!isMapping(raw)) return raw
  const name = chosen ?? PRESET_NAMES.find((one) => one === raw.preset)
  if (name === undefined) return raw
  const { design, severity } = PRESETS[name]
  const gates = withSeverity(gatesOfKind(raw.kind), severity)
  return {
    ...raw,
    preset: name,
    design: merged(designBeside(raw.design, design), raw.design),
    gates: merged(gates, raw.gates),
  }
}

/** Does the file name itself all that the preset would fill in? `raw`: the file as it was read. */
export function fillsInNothing(name: PresetName, raw: unknown): boolean {
  if (!isMapping(raw)) return false
  const names = (own: unknown, keys: readonly string[]) =>
    isMapping(own) && keys.every((key) => Object.hasOwn(own, key))
  return (
    names(raw.design, Object.keys(designBeside(raw.design, PRESETS[name].design))) &&
    names(raw.gates, Object.keys(gatesOfKind(raw.kind)))
  )
}

/** `looks` takes the place of the preset's `blocks`. */
function designBeside(own: unknown, { blocks, ...others }: Preset['design']): Preset['design'] {
  const hasLooks = isMapping(own) && Object.hasOwn(own, 'looks')
  return hasLooks ? others : { blocks, ...others }
}

/** A value of the wrong type stays, so that it is refused by name. */
function merged(preset: Readonly<Record<string, unknown>>, own: unknown): unknown {
  if (own === undefined) return preset
  return isMapping(own) ? { ...preset, ...own } : own
}

/** What is a warning by default stays one. */
function withSeverity(gates: GatesFile, severity: Preset['severity']): GatesFile {
  const asPreset = (gate: GatesFile[string]) => (severity === 'required' ? gate : { ...gate, severity })
  return Object.fromEntries(Object.entries(gates).map(([name, gate]) => [name, asPreset(gate)]))
}

/** What an experiment that names no gates has to pass depends on its question. */
export function withKindDefaults(raw: unknown): unknown {
  return isMapping(raw) && raw.gates === undefined ? { ...raw, gates: gatesOfKind(raw.kind) } : raw
}

function gatesOfKind(kind: unknown): GatesFile {
  return kind === 'regression' ? REGRESSION_GATES : DEFAULT_GATES
}
